#pragma once
#include <atomic>
#include <cstdint>

#include "iwarp/preload/engine.h"

namespace iwarp::preload {

/// The thread that drives the device for programs that sleep, or watch memory, instead of polling.
///
/// It sleeps on the device's descriptor. When that becomes readable while a thread of the program polls, the two would
/// fight for the lock and the processor: then it rests, for longer each time, and looks again. It never ends: the
/// process does.
class Engine::Service {
public:
    /// Throws std::system_error. The lock may be held.
    Service(Engine& engine, int descriptor);
    enum class Next : std::uint8_t { anything, polls_again };
    /// The program has just driven the device itself; what it will do next.
    void driven(Next next);
    /// The program is about to sleep.
    void take_over();

private:
    static std::int64_t now_ns();
    static void* run(void* service);
    void serve();
    bool program_drives() const;
    void give_way();

    Engine& engine_;
    int descriptor_;
    int wake_ = -1;
    std::atomic<std::int64_t> driven_until_ns_{0};
    std::atomic<bool> resting_{false};
};

}  // namespace iwarp::preload
