#pragma once
#include <memory>
#include <vector>

#include "iwarp/iwarp.h"
#include "iwarp/verbs/device_impl.h"

namespace iwarp {

struct CompletionQueue::Impl {
    ~Impl();
    void push(const Completion& completion);
    /// Whether the completion raises a requested event.
    bool raises_event(const Completion& completion) const;
    /// Whether one of the waiting completions does.
    bool holds_event() const;
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
    bool overflowed = false;
    bool stamps = false;
    bool armed = false;
    bool armed_for_solicited = false;
    bool event_pending = false;
    bool overflow_pending = false;
};

}  // namespace iwarp
