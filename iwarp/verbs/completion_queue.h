#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "iwarp/iwarp.h"
#include "iwarp/verbs/device_impl.h"

namespace iwarp {

struct CompletionQueue::Impl {
    ~Impl();
    void push(const Completion& completion);
    /// Whether the completion raises a requested event.
    bool raises_event(const Completion& completion) const;
    /// The place in the queue of the first waiting completion that does, except the one that the last event was for.
    std::optional<std::size_t> find_event() const;
    /// Raises the event for the completion at that place.
    void announce(std::size_t place);
    /// Raises the event and disarms the queue.
    void wake();
    void grow();

    std::shared_ptr<Device> device;
    std::weak_ptr<CompletionQueue> self;
    std::vector<QueuePair::Impl*> users;  ///< each queue pair once for each of its sides
    std::vector<Completion> ring;         ///< grows up to capacity
    std::size_t capacity = 0;
    std::size_t first = 0;
    std::size_t count = 0;
    std::uint64_t taken = 0;                 ///< completions that were polled so far
    std::optional<std::uint64_t> announced;  ///< how many completions came before the one that the last event was for
    bool overflowed = false;
    bool stamps = false;
    bool armed = false;
    bool armed_for_solicited = false;
    bool event_pending = false;
    bool overflow_pending = false;
};

}  // namespace iwarp
