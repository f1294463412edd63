#pragma once
#include <cstdint>

namespace iwarp::preload {

/// What a thread does after polls that found nothing. With a processor of its own it continues to poll. If other
/// threads need that processor, spinning takes time from them that the peer may need for its answer, and the scheduler
/// lets a thread that has used up its time wait long for more. Then the thread sleeps until bytes come, and runs at
/// once when they do. The duration of sched_yield() shows whether there are other threads.
///
/// One thread uses it.
class PollBackoff {
public:
    /// A poll found something.
    void found() { empty_polls_ = 0; }
    /// A poll found nothing. The ProgressEngine's lock is not held. May sleep until `descriptor` becomes readable, for
    /// 100 microseconds at most.
    void found_nothing(int descriptor);

private:
    void look(std::int64_t now_ns);

    unsigned empty_polls_ = 0;  ///< one after the other
    std::int64_t contended_until_ns_ = 0;
    std::int64_t look_again_after_ns_ = 0;  ///< of the last time that it was contended: longer each time
};

/// The calling thread's.
PollBackoff& this_threads_backoff();

}  // namespace iwarp::preload
