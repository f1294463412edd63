#pragma once
#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/descriptor.h"
#include "iwarp/preload/progress_engine.h"

namespace iwarp::preload {

/// The thread that drives the device for programs that sleep, or watch memory, instead of polling.
///
/// It sleeps on the device's descriptor. If that becomes readable while a thread of the program polls, the two would
/// compete for the lock and the processor: then this thread rests until the program has missed the time at which it was
/// expected. It never ends before the process does.
class ProgressEngine::Service {
public:
    /// Throws std::system_error. The lock may be held.
    Service(ProgressEngine& engine, int descriptor);

    // With the lock held.

    /// The program drives the device itself, and is expected to do so again within `for_ns`.
    void expect_program(std::int64_t for_ns) {
        driven_until_ns_.store(base::steady_ns() + for_ns, std::memory_order_seq_cst);
    }
    /// The program is about to sleep.
    void take_over();
    /// There is work that no descriptor shows.
    void work_left();

private:
    static void* run(void* service);
    void serve();
    bool sleep() const;
    bool turn();
    void wake() const;
    void rest(std::int64_t for_ns);
    void give_way();

    ProgressEngine& engine_;
    int descriptor_;
    base::Descriptor wake_;
    std::atomic<std::int64_t> driven_until_ns_{0};
    std::atomic<bool> resting_{false};
    std::atomic<bool> sleeping_{false};  ///< it has done all known work; changed with the lock held
};

}  // namespace iwarp::preload
