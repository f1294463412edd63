#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace base {

/// The text for a frame's time that 64 bits of nanoseconds cannot hold, before 1677-09-21 or after 2262-04-11: readers
/// of captures set such a time to the end of that range.
inline constexpr std::string_view out_of_range = "out-of-range";
constexpr bool is_out_of_range(std::int64_t time_ns) {
    return time_ns == base::beginning_of_time || time_ns == base::end_of_time;
}
/// Times come from files: a difference that 64 bits cannot hold becomes the greatest one.
constexpr std::int64_t time_difference(std::int64_t later_ns, std::int64_t earlier_ns) {
    if (later_ns >= earlier_ns)
        return static_cast<std::int64_t>(
            std::min<std::uint64_t>(base::elapsed(earlier_ns, later_ns), base::end_of_time));
    return -static_cast<std::int64_t>(std::min<std::uint64_t>(base::elapsed(later_ns, earlier_ns), base::end_of_time));
}

/// tcpdump's forms of time: in the order of `-t`s after the default.
enum class TimeStyle : std::uint8_t {
    time_of_day,     ///< 01:40:49.473152, local time
    none,            ///< -t
    seconds,         ///< -tt: since 1970
    since_previous,  ///< -ttt: since the line before
    date,            ///< -tttt: time of day with the date in front
    since_first,     ///< -ttttt: since the first line
};

/// Writes the times at the beginning of lines, a blank after each; nothing for TimeStyle::none.
class Timestamps {
public:
    Timestamps(TimeStyle style, bool nanoseconds) : style_(style), nanoseconds_(nanoseconds) {}

    void append(std::string& out, std::int64_t time_ns);

private:
    void append_clock(std::string& out, std::int64_t seconds);
    void append_span(std::string& out, std::int64_t nanoseconds) const;
    void append_fraction(std::string& out, std::uint64_t nanoseconds) const;

    TimeStyle style_;
    bool nanoseconds_;
    std::optional<std::int64_t> reference_;
    std::int64_t cached_second_ = std::numeric_limits<std::int64_t>::min();
    std::string cached_;  ///< the text of that second: consecutive frames mostly have the same
};

}  // namespace base
