#pragma once
#include <algorithm>
#include <cstdint>
#include <ctime>
#include <limits>

/// Times are nanoseconds: those of CLOCK_REALTIME since 1970-01-01 UTC. Code gets the time as an argument if it can;
/// only code that waits, measures itself or stamps frames calls these functions.
namespace base {

inline constexpr std::int64_t ns_per_sec = 1'000'000'000;
inline constexpr std::int64_t beginning_of_time = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t end_of_time = std::numeric_limits<std::int64_t>::max();

constexpr std::int64_t to_ns(const std::timespec& time) {
    return std::int64_t{time.tv_sec} * ns_per_sec + time.tv_nsec;
}

/// The time by one of the kernel's clocks; 0 if it does not exist.
inline std::int64_t now_ns(clockid_t clock) {
    std::timespec now{};
    ::clock_gettime(clock, &now);
    return to_ns(now);
}
/// A clock that never steps.
inline std::int64_t steady_ns() { return now_ns(CLOCK_MONOTONIC); }
/// Since 1970-01-01 UTC by the machine's clock, which may step.
inline std::int64_t wall_ns() { return now_ns(CLOCK_REALTIME); }

/// From one time to a later one; 0 if the second is earlier.
constexpr std::uint64_t elapsed(std::int64_t from_ns, std::int64_t to_ns) {
    return to_ns > from_ns ? static_cast<std::uint64_t>(to_ns) - static_cast<std::uint64_t>(from_ns) : 0;
}

/// Moves a time in either direction without wrapping round: it stops at the ends of the range.
constexpr std::int64_t add_ns(std::int64_t time_ns, std::int64_t ns) {
    if (ns > 0 && time_ns > end_of_time - ns) return end_of_time;
    if (ns < 0 && time_ns < beginning_of_time - ns) return beginning_of_time;
    return time_ns + ns;
}

/// Moves a time by an unsigned length without wrapping round: it stops at the end of the range.
constexpr std::int64_t later(std::int64_t time_ns, std::uint64_t by_ns) {
    const auto step = static_cast<std::int64_t>(std::min<std::uint64_t>(by_ns, end_of_time));
    return time_ns > end_of_time - step ? end_of_time : time_ns + step;
}
constexpr std::int64_t earlier(std::int64_t time_ns, std::uint64_t by_ns) {
    const auto step = static_cast<std::int64_t>(std::min<std::uint64_t>(by_ns, end_of_time));
    return time_ns < beginning_of_time + step ? beginning_of_time : time_ns - step;
}

}  // namespace base
