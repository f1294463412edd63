#pragma once
#include <cerrno>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>

#include "base/descriptor.h"
#include "iwarp/preload/lock.h"

namespace iwarp::preload {

/// Events that a program takes through a descriptor, which it may poll, make non-blocking and add to its own epoll: a
/// completion channel, a context's asynchronous events, a connection manager's event channel.
///
/// The descriptor counts the events (eventfd, semaphore mode). The events themselves lie in memory, so that the events
/// of a destroyed object can be removed. Closing the descriptor does not wake waiting threads: rping continues to poll
/// while it cleans up, and would treat an end of file as an error.
template <class Event>
class EventQueue {
public:
    /// An empty handle: it can only be tested, and assigned. Copies refer to the same queue.
    EventQueue() = default;
    /// errno says why there is none, if good() is false.
    explicit EventQueue(Lock& lock) : state_(std::make_shared<State>(lock)) {
        state_->descriptor.reset(eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC));
    }

    explicit operator bool() const { return state_ != nullptr; }
    bool good() const { return static_cast<bool>(state_->descriptor); }
    int descriptor() const { return state_->descriptor.number(); }

    /// With the lock held.
    void push(Event event) {
        state_->events.push_back(std::move(event));
        const std::uint64_t one = 1;
        while (write(state_->descriptor.number(), &one, sizeof one) < 0 && errno == EINTR) {
        }
    }

    /// With the lock held: removes the events that `which` selects, and returns their number.
    template <class Which>
    std::size_t remove(Which which) {
        const std::size_t removed = std::erase_if(state_->events, which);
        for (std::size_t i = 0; i < removed; ++i) state_->forget_one();
        return removed;
    }

    /// Without the lock: the oldest event, waiting for one unless the program made the descriptor non-blocking. No
    /// value if read(2) fails, with its errno. `taken` is called with the event and the lock held.
    template <class Taken>
    std::optional<Event> take(Taken taken) {
        const std::shared_ptr<State> state = state_;  // the program may destroy the channel meanwhile
        while (true) {
            std::uint64_t count = 0;
            if (read(state->descriptor.number(), &count, sizeof count) != sizeof count) return std::nullopt;
            const Lock::Hold hold(state->lock);
            if (state->events.empty()) continue;  // its object was destroyed between the two
            Event event = std::move(state->events.front());
            state->events.pop_front();
            taken(event);
            return event;
        }
    }

private:
    struct State {
        explicit State(Lock& of) : lock(of) {}
        /// Another thread may be about to read: this must not wait. A count that stays wakes a thread without an event.
        void forget_one() const {
            std::uint64_t count = 0;
            const iovec into{&count, sizeof count};
            static_cast<void>(preadv2(descriptor.number(), &into, 1, -1, RWF_NOWAIT));
        }

        Lock& lock;
        base::Descriptor descriptor;
        std::deque<Event> events;
    };
    std::shared_ptr<State> state_;
};

}  // namespace iwarp::preload
