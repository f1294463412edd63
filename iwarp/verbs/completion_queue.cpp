#include "iwarp/verbs/completion_queue.h"

#include <algorithm>

#include "fmt/core.h"
#include "iwarp/probes.h"

namespace iwarp {
namespace {
constexpr std::size_t first_slots = 16;
}

CompletionQueue::Impl::~Impl() {
    if (device) std::erase(device->impl().overflowed, this);
}

void CompletionQueue::Impl::grow() {
    std::rotate(ring.begin(), ring.begin() + static_cast<std::ptrdiff_t>(first), ring.end());
    first = 0;
    ring.resize(std::min(capacity, std::max(first_slots, 2 * ring.size())));
}

void CompletionQueue::Impl::push(const Completion& completion) {
    IWARP_PROBE(completion, completion.queue_pair, completion.id, static_cast<int>(completion.status),
                static_cast<int>(completion.operation), completion.length);
    if (count == capacity) {
        if (!overflowed) device->impl().overflowed.push_back(this);
        overflowed = true;
        return;
    }
    if (count == ring.size()) grow();
    std::size_t slot = first + count;
    if (slot >= ring.size()) slot -= ring.size();
    ring[slot] = completion;
    if (stamps) ring[slot].time_ns = device->impl().transport->now_ns();
    ++count;
    if (armed && raises_event(completion)) announce(count - 1);
}

bool CompletionQueue::Impl::raises_event(const Completion& completion) const {
    return !armed_for_solicited || completion.solicited || completion.status != Status::success;
}

std::optional<std::size_t> CompletionQueue::Impl::find_event() const {
    for (std::size_t place = 0; place < count; ++place)
        if (taken + place != announced && raises_event(ring[(first + place) % ring.size()])) return place;
    return std::nullopt;
}

void CompletionQueue::Impl::announce(std::size_t place) {
    announced = taken + place;
    wake();
}

void CompletionQueue::Impl::wake() {
    armed = false;
    if (event_pending) return;
    event_pending = true;
    verbs::PendingEvent event;
    event.kind = Event::Kind::completion;
    event.completion_queue = self;
    device->impl().raise(std::move(event));
}

CompletionQueue::CompletionQueue(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CompletionQueue::~CompletionQueue() = default;

std::size_t CompletionQueue::poll(std::span<Completion> out) {
    const std::size_t taken = std::min(out.size(), impl_->count);
    for (std::size_t i = 0; i < taken; ++i) {
        out[i] = impl_->ring[impl_->first];
        if (++impl_->first == impl_->ring.size()) impl_->first = 0;
    }
    impl_->count -= taken;
    impl_->taken += taken;
    return taken;
}

void CompletionQueue::stamp_completions() { impl_->stamps = true; }
std::size_t CompletionQueue::capacity() const { return impl_->capacity; }
std::size_t CompletionQueue::size() const { return impl_->count; }
bool CompletionQueue::overflowed() const { return impl_->overflowed; }

void CompletionQueue::resize(std::size_t capacity) {
    if (capacity == 0 || capacity < impl_->count)
        throw Error(fmt::format("a completion queue with {} waiting completions cannot be resized to {}; poll it first",
                                impl_->count, capacity));
    if (capacity < impl_->ring.size()) {
        std::rotate(impl_->ring.begin(), impl_->ring.begin() + static_cast<std::ptrdiff_t>(impl_->first),
                    impl_->ring.end());
        impl_->first = 0;
        impl_->ring.resize(capacity);
    }
    impl_->capacity = capacity;
}

void CompletionQueue::request_event(bool solicited_only) {
    // A wish for any completion is not narrowed by a later one for solicited ones alone, as in the verbs.
    impl_->armed_for_solicited = solicited_only && (!impl_->armed || impl_->armed_for_solicited);
    impl_->armed = true;
    if (const auto place = impl_->find_event()) impl_->announce(*place);
}

}  // namespace iwarp
