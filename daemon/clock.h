#pragma once
#include <cstdint>
#include <ctime>

namespace service {

inline std::int64_t now_by(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}
/// Nanoseconds of a clock that never steps.
inline std::int64_t steady_ns() { return now_by(CLOCK_MONOTONIC); }
/// Nanoseconds since 1970-01-01 UTC, as the machine has them: they may step.
inline std::int64_t wall_ns() { return now_by(CLOCK_REALTIME); }

}  // namespace service
