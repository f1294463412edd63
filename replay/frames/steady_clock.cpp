#include "replay/frames/steady_clock.h"

#include <algorithm>
#include <ctime>
#include <sys/prctl.h>

#include "base/clock.h"

namespace replay::inline frames {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t watched_ns = 60'000;  ///< before the time, without sleeping
constexpr std::int64_t longest_sleep_ns = 100'000'000;

}  // namespace

SteadyClock::SteadyClock(bool (*stop)()) : stop_(stop) {
    ::prctl(PR_SET_TIMERSLACK, 1);  // sleeps end when they are due, not when it suits others
}

std::int64_t SteadyClock::now_ns() { return base::steady_ns(); }

void SteadyClock::wait(std::int64_t until_ns) {
    for (std::int64_t now = now_ns(); now < until_ns; now = now_ns()) {
        if (stop_ != nullptr && stop_()) return;
        const std::int64_t sleep_ns = std::min(until_ns - watched_ns - now, longest_sleep_ns);
        if (sleep_ns <= 0) continue;
        const timespec end{(now + sleep_ns) / second_ns, (now + sleep_ns) % second_ns};
        ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr);
    }
}

}  // namespace replay::frames
