#pragma once
#include <cstdint>
#include <limits>

namespace capture::inline files {

/// Turns the 64-bit timestamps of a pcapng interface into nanoseconds since 1970. Values out of range saturate.
class TickClock {
public:
    TickClock() : TickClock(1'000'000, 0) {}

    /// `ticks_per_sec` is not 0.
    TickClock(std::uint64_t ticks_per_sec, std::int64_t offset_sec) : ticks_per_sec_(ticks_per_sec) {
        constexpr std::int64_t max_sec = std::numeric_limits<std::int64_t>::max() / ns_per_sec;
        offset_ns_ = offset_sec > max_sec    ? std::numeric_limits<std::int64_t>::max()
                     : offset_sec < -max_sec ? std::numeric_limits<std::int64_t>::min()
                                             : offset_sec * ns_per_sec;
        if (ns_per_sec_ticks % ticks_per_sec == 0) {
            ns_per_tick_ = ns_per_sec_ticks / ticks_per_sec;
            const std::int64_t room = std::numeric_limits<std::int64_t>::max() - (offset_ns_ > 0 ? offset_ns_ : 0);
            plain_below_ = static_cast<std::uint64_t>(room) / ns_per_tick_;
        }
    }

    std::int64_t nanoseconds(std::uint64_t ticks) const {
        if (ticks < plain_below_) [[likely]]
            return static_cast<std::int64_t>(ticks * ns_per_tick_) + offset_ns_;
        return exactly(ticks);
    }

private:
    static constexpr std::int64_t ns_per_sec = 1'000'000'000;
    static constexpr std::uint64_t ns_per_sec_ticks = 1'000'000'000;
    __extension__ using Wide = __int128;

    std::int64_t exactly(std::uint64_t ticks) const {
        const Wide whole = Wide{ticks / ticks_per_sec_} * ns_per_sec;
        const Wide part = Wide{ticks % ticks_per_sec_} * ns_per_sec / ticks_per_sec_;
        const Wide sum = whole + part + offset_ns_;
        constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
        return sum > most ? most : static_cast<std::int64_t>(sum);
    }

    std::uint64_t ticks_per_sec_;
    std::uint64_t ns_per_tick_ = 0;
    std::uint64_t plain_below_ = 0;
    std::int64_t offset_ns_ = 0;
};

}  // namespace capture::files
