#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace base {

/// tcpdump's ways to say when: in the order of `-t`s behind the usual one.
enum class TimeStyle : std::uint8_t {
    time_of_day,     ///< 01:40:49.473152, local time
    none,            ///< -t
    seconds,         ///< -tt: since 1970
    since_previous,  ///< -ttt: since the line before
    date,            ///< -tttt: time of day with the date in front
    since_first,     ///< -ttttt: since the first line
};

/// Writes the times at the beginning of lines, a blank behind each; nothing for TimeStyle::none.
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
    std::string cached_;  ///< the text of that second: consecutive frames mostly share it
};

}  // namespace base
