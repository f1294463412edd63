#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace iwarp::transport {

/// The elements of a TimerHeap derive from this.
struct Timer {
    static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();
    std::int64_t due_ns = 0;
    std::size_t place = nowhere;  ///< the heap's own
};

/// Timers by their due time; a change is O(log n), and nothing is allocated for a timer that was in the heap before.
class TimerHeap {
public:
    bool empty() const { return heap_.empty(); }
    Timer& first() const { return *heap_.front(); }

    void set(Timer& timer, std::int64_t due_ns) {
        if (timer.place == Timer::nowhere) {
            timer.place = heap_.size();
            heap_.push_back(&timer);
        } else if (timer.due_ns == due_ns) {
            return;
        }
        timer.due_ns = due_ns;
        settle(timer.place);
    }
    void remove(Timer& timer) {
        if (timer.place == Timer::nowhere) return;
        const std::size_t hole = std::exchange(timer.place, Timer::nowhere);
        Timer* const last = heap_.back();
        heap_.pop_back();
        if (last == &timer) return;
        heap_[hole] = last;
        last->place = hole;
        settle(hole);
    }

private:
    bool before(std::size_t a, std::size_t b) const { return heap_[a]->due_ns < heap_[b]->due_ns; }
    void exchange(std::size_t a, std::size_t b) {
        std::swap(heap_[a], heap_[b]);
        heap_[a]->place = a;
        heap_[b]->place = b;
    }
    void settle(std::size_t at) {
        while (at > 0 && before(at, (at - 1) / 2)) {
            exchange(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
        for (;;) {
            std::size_t least = at;
            for (const std::size_t child : {2 * at + 1, 2 * at + 2})
                if (child < heap_.size() && before(child, least)) least = child;
            if (least == at) return;
            exchange(at, least);
            at = least;
        }
    }

    std::vector<Timer*> heap_;
};

}  // namespace iwarp::transport
