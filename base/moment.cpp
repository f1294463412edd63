#include "base/moment.h"

#include <charconv>
#include <ctime>
#include <fmt/core.h>
#include <limits>
#include <optional>
#include <string_view>

#include "base/quantities.h"

namespace base {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t most_seconds = std::numeric_limits<std::int64_t>::max() / second_ns - 1;

/// Reads from the front; what does not fit sets `failed`, and the rest does nothing.
struct Reader {
    std::string_view rest;
    bool failed = false;

    bool take(char letter) {
        if (!rest.starts_with(letter)) return false;
        rest.remove_prefix(1);
        return true;
    }
    void expect(char letter) { failed |= !take(letter); }
    int digits(std::size_t count, int least, int most) {
        int number = 0;
        if (rest.size() < count) {
            failed = true;
            return 0;
        }
        const auto [end, code] = std::from_chars(rest.data(), rest.data() + count, number);
        failed |=
            code != std::errc{} || end != rest.data() + count || rest[0] == '-' || number < least || number > most;
        rest.remove_prefix(count);
        return number;
    }
    /// After a point; nanoseconds.
    std::int64_t fraction() {
        std::int64_t ns = 0;
        std::size_t count = 0;
        for (std::int64_t unit = second_ns / 10; !rest.empty() && rest[0] >= '0' && rest[0] <= '9'; unit /= 10) {
            ns += (rest[0] - '0') * unit;
            rest.remove_prefix(1);
            ++count;
        }
        failed |= count == 0;
        return ns;
    }
};

struct Clock {
    std::tm fields = {};
    std::int64_t ns = 0;
};

void take_date(Reader& from, std::tm& fields) {
    fields.tm_year = from.digits(4, 1970, 2261) - 1900;
    from.expect('-');
    fields.tm_mon = from.digits(2, 1, 12) - 1;
    from.expect('-');
    fields.tm_mday = from.digits(2, 1, 31);
}

void take_time(Reader& from, Clock& clock) {
    clock.fields.tm_hour = from.digits(2, 0, 23);
    from.expect(':');
    clock.fields.tm_min = from.digits(2, 0, 59);
    if (!from.take(':')) return;
    clock.fields.tm_sec = from.digits(2, 0, 60);  // a leap second is the next minute's first
    if (from.take('.')) clock.ns = from.fraction();
}

/// East of Greenwich, in seconds; no value if none is given.
std::optional<int> take_zone(Reader& from) {
    if (from.take('Z') || from.take('z')) return 0;
    const bool west = from.rest.starts_with('-');
    if (!from.take('+') && !from.take('-')) return std::nullopt;
    const int hours = from.digits(2, 0, 23);
    from.take(':');
    const int seconds = hours * 3600 + from.digits(2, 0, 59) * 60;
    return west ? -seconds : seconds;
}

std::optional<std::int64_t> absolute(std::string_view value, std::int64_t now_ns) {
    Reader from{value};
    Clock clock;
    std::optional<int> zone;
    const bool dated = value.size() > 4 && value[4] == '-';
    if (dated) {
        take_date(from, clock.fields);
        if (from.take('T') || from.take('t') || from.take(' ')) {
            take_time(from, clock);
            zone = take_zone(from);
        }
    } else {
        const std::time_t now = now_ns / second_ns;
        localtime_r(&now, &clock.fields);
        clock.fields.tm_sec = 0;
        take_time(from, clock);
    }
    if (from.failed || !from.rest.empty()) return std::nullopt;
    clock.fields.tm_isdst = -1;
    // The 31st of November is the 1st of December to timegm, and a mistake to people.
    std::tm same = clock.fields;
    timegm(&same);
    if (same.tm_mday != clock.fields.tm_mday && clock.fields.tm_sec != 60) return std::nullopt;
    const std::time_t seconds = zone ? timegm(&clock.fields) - *zone : mktime(&clock.fields);
    if (seconds > most_seconds) return std::nullopt;
    return seconds * second_ns + clock.ns;
}

std::optional<std::int64_t> since_1970(std::string_view value) {
    Reader from{value};
    std::int64_t seconds = 0;
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (code != std::errc{} || seconds < 0 || seconds > most_seconds || value.starts_with('-')) return std::nullopt;
    from.rest.remove_prefix(static_cast<std::size_t>(end - value.data()));
    const std::int64_t ns = from.take('.') ? from.fraction() : 0;
    if (from.failed || !from.rest.empty()) return std::nullopt;
    return seconds * second_ns + ns;
}

}  // namespace

std::string take_moment(const std::string& value, std::int64_t now_ns, std::int64_t& into_ns) {
    std::uint64_t ago_ns = 0;
    std::optional<std::int64_t> found;
    if (value == "now")
        found = now_ns;
    else if (value.starts_with('-') && take_duration(value.substr(1), ago_ns).empty())
        found = now_ns - static_cast<std::int64_t>(ago_ns);
    else if (value.starts_with('@'))
        found = since_1970(std::string_view(value).substr(1));
    else
        found = absolute(value, now_ns);
    if (!found) return "a time such as 10:00, '2026-11-21 10:00', 2026-11-21T10:00:00Z or -30m";
    into_ns = *found;
    return {};
}

std::string moment(std::int64_t time_ns) {
    const std::time_t seconds = time_ns / second_ns - (time_ns % second_ns < 0 ? 1 : 0);
    std::tm fields = {};
    localtime_r(&seconds, &fields);
    return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", fields.tm_year + 1900, fields.tm_mon + 1, fields.tm_mday,
                       fields.tm_hour, fields.tm_min, fields.tm_sec);
}

}  // namespace base
