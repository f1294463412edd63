#include "iwarp/verbs/shared_receive_queue.h"

#include "fmt/core.h"
#include "iwarp/probes.h"
#include "iwarp/verbs/connection.h"
#include "iwarp/verbs/protection_domain.h"

namespace iwarp {

void SharedReceiveQueue::Impl::raise_limit() {
    if (limit_pending) return;
    limit_pending = true;
    verbs::PendingEvent event;
    event.kind = Event::Kind::receive_limit;
    event.shared_receive_queue = self;
    domain->impl().device->impl().raise(std::move(event));
}

/// To the connections that wait, in turn. Each takes one receive for its message; if its next message waits, too, it
/// goes to the end, so that no other connection waits until its patience ends.
void SharedReceiveQueue::Impl::offer() {
    while (!waiting.empty() && receives.size() != 0) {
        verbs::Connection& stream = *waiting.front();
        stream.leave_receive_queue();
        stream.receive_posted();
    }
}

SharedReceiveQueue::SharedReceiveQueue(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SharedReceiveQueue::~SharedReceiveQueue() = default;

Posted SharedReceiveQueue::post_receive(const ReceiveRequest& request) {
    const Posted posted = impl_->receives.post(request);
    if (posted != Posted::ok) return posted;
    IWARP_PROBE(post_receive, 0, request.id, request.pieces.size());
    impl_->offer();
    return posted;
}

void SharedReceiveQueue::arm_limit(std::uint32_t limit) { impl_->receives.arm_limit(limit); }

void SharedReceiveQueue::resize(std::uint32_t max_receive) {
    if (max_receive == 0 || !impl_->receives.resize(max_receive))
        throw Error(fmt::format("a shared receive queue with {} posted requests cannot be resized to {}",
                                impl_->receives.size(), max_receive));
}

std::uint32_t SharedReceiveQueue::size() const { return impl_->receives.size(); }

}  // namespace iwarp
