#pragma once
#include <cstdint>

namespace iwarp::preload {

/// What a thread that polls in vain does meanwhile. With a processor of its own it polls on. Where others want that
/// processor, spinning takes the very time from them that the peer, perhaps, needs for its answer, and the scheduler
/// lets a thread that has used its time up wait long for more: then the thread sleeps until octets come, which also has
/// it run at once when they do. Whether there are others, sched_yield() tells by how long it takes.
///
/// One thread uses it.
class Crowd {
public:
    /// A poll found something.
    void found() { in_vain_ = 0; }
    /// A poll found nothing. The Engine's lock is not held. May sleep until `descriptor` becomes readable, for 100
    /// microseconds at most.
    void found_nothing(int descriptor);

private:
    void look(std::int64_t now_ns);

    unsigned in_vain_ = 0;  ///< polls, one after the other
    std::int64_t crowded_until_ns_ = 0;
    std::int64_t look_again_after_ns_ = 0;  ///< of the last time that it was crowded: longer each time
};

/// The calling thread's.
Crowd& this_threads_crowd();

}  // namespace iwarp::preload
