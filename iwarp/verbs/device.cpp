#include "iwarp/verbs/device.h"

#include <algorithm>

#include "fmt/core.h"
#include "iwarp/verbs/completion_queue.h"
#include "iwarp/verbs/connection.h"
#include "iwarp/verbs/connection_request.h"
#include "iwarp/verbs/device_impl.h"
#include "iwarp/verbs/listener.h"
#include "iwarp/verbs/protection_domain.h"
#include "iwarp/verbs/queue_pair.h"
#include "iwarp/verbs/send_buffer.h"
#include "iwarp/verbs/shared_receive_queue.h"

namespace iwarp {
namespace {

void check_range(const char* what, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
    if (value < least || value > most) throw Error(fmt::format("{} is {}; it is {} to {}", what, value, least, most));
}

constexpr std::uint32_t most_requests = 1U << 20;
constexpr std::uint32_t most_pieces = 32;
constexpr std::uint32_t most_inline = 4096;

}  // namespace

Device::Impl::Impl(const DeviceOptions& wanted) : options(wanted), memory(wanted.max_regions) {
    check_range("DeviceOptions: max_regions", wanted.max_regions, 1, (1U << 24) - 1);
    check_range("DeviceOptions: max_queue_pairs", wanted.max_queue_pairs, 1, 1U << 24);
    check_range("DeviceOptions: max_connections", wanted.max_connections, 1, 1U << 24);
}

Device::Impl::~Impl() {
    // Streams leave lists of the device as they go.
    events.clear();
    transport.reset();
}

void Device::Impl::end_overflowed() {
    while (!overflowed.empty()) {
        CompletionQueue::Impl& queue = *overflowed.back();
        overflowed.pop_back();
        if (!std::exchange(queue.overflow_pending, true)) {
            verbs::PendingEvent event;
            event.kind = Event::Kind::completion_overflow;
            event.completion_queue = queue.self;
            raise(std::move(event));
        }
        for (std::size_t i = 0; i < queue.users.size(); ++i) queue.users[i]->fail("its completion queue overflowed");
    }
}

void Device::Impl::withdraw(std::span<const std::byte> owned) {
    if (owned.empty()) return;
    for (verbs::SendBuffer* const buffer : sending) buffer->withdraw(owned);
}

Device::Device(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Device::~Device() = default;

std::shared_ptr<Device> verbs::make_device(const DeviceOptions& options, std::unique_ptr<verbs::Transport> transport) {
    auto impl = std::make_unique<Device::Impl>(options);
    impl->transport = std::move(transport);
    auto device = std::make_shared<Device>(std::move(impl));
    device->impl().self = device;
    return device;
}

std::shared_ptr<ProtectionDomain> Device::allocate_protection_domain() {
    auto impl = std::make_unique<ProtectionDomain::Impl>();
    impl->device = impl_->self.lock();
    impl->number = ++impl_->last_domain;
    auto domain = std::make_shared<ProtectionDomain>(std::move(impl));
    domain->impl().self = domain;
    return domain;
}

std::shared_ptr<CompletionQueue> Device::create_completion_queue(std::size_t capacity) {
    check_range("a completion queue's capacity", capacity, 1, 1U << 24);
    auto impl = std::make_unique<CompletionQueue::Impl>();
    impl->device = impl_->self.lock();
    impl->capacity = capacity;
    auto queue = std::make_shared<CompletionQueue>(std::move(impl));
    queue->impl().self = queue;
    return queue;
}

std::shared_ptr<SharedReceiveQueue> Device::create_shared_receive_queue(const std::shared_ptr<ProtectionDomain>& domain,
                                                                        std::uint32_t max_receive,
                                                                        std::uint32_t max_pieces) {
    check_range("a shared receive queue's max_receive", max_receive, 1, most_requests);
    check_range("a shared receive queue's max_pieces", max_pieces, 1, most_pieces);
    if (!domain || &domain->impl().device->impl() != impl_.get())
        throw Error("a shared receive queue needs a protection domain of the same device");
    auto impl = std::make_unique<SharedReceiveQueue::Impl>(max_receive, max_pieces);
    impl->domain = domain;
    auto queue = std::make_shared<SharedReceiveQueue>(std::move(impl));
    queue->impl().self = queue;
    return queue;
}

std::shared_ptr<QueuePair> Device::create_queue_pair(const std::shared_ptr<ProtectionDomain>& domain,
                                                     const std::shared_ptr<CompletionQueue>& send_completions,
                                                     const std::shared_ptr<CompletionQueue>& receive_completions,
                                                     const QueuePairOptions& options,
                                                     const std::shared_ptr<SharedReceiveQueue>& receives) {
    check_range("QueuePairOptions: max_send", options.max_send, 1, most_requests);
    check_range("QueuePairOptions: max_receive", options.max_receive, receives ? 0 : 1, most_requests);
    check_range("QueuePairOptions: max_pieces", options.max_pieces, 1, most_pieces);
    check_range("QueuePairOptions: max_inline", options.max_inline, 0, most_inline);
    if (!domain || !send_completions || !receive_completions)
        throw Error("a queue pair needs a protection domain and two completion queues (they may be the same)");
    if (&domain->impl().device->impl() != impl_.get() || &send_completions->impl().device->impl() != impl_.get() ||
        &receive_completions->impl().device->impl() != impl_.get() ||
        (receives && &receives->impl().domain->impl().device->impl() != impl_.get()))
        throw Error("the objects of a queue pair belong to the device that it is made on");
    if (impl_->queue_pairs >= impl_->options.max_queue_pairs)
        throw Error(fmt::format("the device has {} queue pairs; it was opened with max_queue_pairs {}",
                                impl_->queue_pairs, impl_->options.max_queue_pairs));
    auto impl = std::make_unique<QueuePair::Impl>(impl_->self.lock(), options);
    impl->domain = domain;
    impl->send_completions = send_completions;
    impl->receive_completions = receive_completions;
    impl->shared_receives = receives;
    impl->number = ++impl_->last_queue_pair;
    if (impl->number == 0) impl->number = ++impl_->last_queue_pair;  // 0 stands for all of a domain
    if (!receives) impl->own_receives = std::make_unique<ddp::ReceiveQueue>(options.max_receive, options.max_pieces);
    send_completions->impl().users.push_back(impl.get());
    if (receive_completions != send_completions) receive_completions->impl().users.push_back(impl.get());
    auto pair = std::make_shared<QueuePair>(std::move(impl));
    pair->impl().self = pair;
    return pair;
}

std::shared_ptr<Listener> Device::listen(const std::string& host, std::uint16_t port, const ConnectionOptions& options,
                                         int backlog) {
    verbs::check_options(options, false);
    auto impl = std::make_unique<Listener::Impl>();
    impl->device = impl_->self.lock();
    impl->options = options;
    impl->listening = impl_->transport->listen(host, port, backlog, options, *impl);
    return std::make_shared<Listener>(std::move(impl));
}

bool Device::progress(std::chrono::nanoseconds wait) {
    const Impl::Scope scope(*impl_);
    return impl_->transport->progress(impl_->events.empty() ? wait.count() : 0);
}

int Device::descriptor() const { return impl_->transport->descriptor(); }
bool Device::work_waits() const { return impl_->transport->work_waits(); }

const DeviceCounters& Device::counters() const { return impl_->counters; }
void Device::limit_stream_memory(std::size_t octets) { impl_->stages->account.limit(octets); }
std::size_t Device::stream_memory() const { return impl_->stages->account.held(); }

std::optional<Event> Device::next_event() {
    while (!impl_->events.empty()) {
        verbs::PendingEvent pending = std::move(impl_->events.front());
        impl_->events.pop_front();
        Event event;
        event.kind = pending.kind;
        event.queue_pair = pending.queue_pair.lock();
        event.completion_queue = pending.completion_queue.lock();
        event.shared_receive_queue = pending.shared_receive_queue.lock();
        if (event.queue_pair) event.queue_pair->impl().pending_kinds &= ~QueuePair::Impl::bit(pending.kind);
        if (pending.request) pending.request->request_seen();
        if (event.completion_queue) {
            CompletionQueue::Impl& queue = event.completion_queue->impl();
            (pending.kind == Event::Kind::completion ? queue.event_pending : queue.overflow_pending) = false;
        }
        if (event.shared_receive_queue) event.shared_receive_queue->impl().limit_pending = false;
        if (pending.request && pending.request->waits_for_answer())
            event.request = std::make_shared<ConnectionRequest>(
                std::make_unique<ConnectionRequest::Impl>(impl_->self.lock(), std::move(pending.request)));
        // Events of what is gone are dropped.
        if (!event.queue_pair && !event.completion_queue && !event.shared_receive_queue && !event.request) continue;
        event.terminate = std::move(pending.terminate);
        event.private_data = std::move(pending.answer.private_data);
        event.ird = pending.answer.ird;
        event.ord = pending.answer.ord;
        event.text = std::move(pending.text);
        event.failure = pending.failure;
        return event;
    }
    return std::nullopt;
}

}  // namespace iwarp
