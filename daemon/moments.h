#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

namespace service {

/// Moments, ns since 1970, that are moved without wrapping round: they stay at the ends of time.
inline constexpr std::int64_t end_of_time = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t beginning_of_time = std::numeric_limits<std::int64_t>::min();

inline std::int64_t later(std::int64_t time_ns, std::uint64_t by_ns) {
    std::int64_t sum = 0;
    const auto step = static_cast<std::int64_t>(std::min<std::uint64_t>(by_ns, end_of_time));
    return __builtin_add_overflow(time_ns, step, &sum) ? end_of_time : sum;
}
inline std::int64_t earlier(std::int64_t time_ns, std::uint64_t by_ns) {
    std::int64_t rest = 0;
    const auto step = static_cast<std::int64_t>(std::min<std::uint64_t>(by_ns, end_of_time));
    return __builtin_sub_overflow(time_ns, step, &rest) ? beginning_of_time : rest;
}

}  // namespace service
