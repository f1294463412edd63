#include <array>
#include <ctime>

#include "base/ascii.h"
#include "dissect/filter/literal.h"

namespace dissect::filter {

namespace {
constexpr Wide ns_per_second = 1'000'000'000;

/// Takes a date apart from left to right.
class Scanner {
public:
    explicit Scanner(std::string_view text) : rest_(text) {}

    bool number(int& value, std::size_t least, std::size_t most) {
        std::size_t count = 0;
        value = 0;
        while (count < most && count < rest_.size() && base::is_digit(rest_[count]))
            value = value * 10 + (rest_[count++] - '0');
        rest_.remove_prefix(count);
        return count >= least;
    }
    bool accept(std::string_view text) {
        if (!rest_.starts_with(text)) return false;
        rest_.remove_prefix(text.size());
        return true;
    }
    void spaces() {
        while (accept(" ")) {
        }
    }
    /// Digits after a point, as nanoseconds; those beyond the ninth have no weight.
    bool fraction(long& nanoseconds) {
        long weight = 100'000'000;
        nanoseconds = 0;
        if (rest_.empty() || !base::is_digit(rest_[0])) return false;
        while (!rest_.empty() && base::is_digit(rest_[0])) {
            nanoseconds += (rest_[0] - '0') * weight;
            rest_.remove_prefix(1);
            weight /= 10;
        }
        return true;
    }
    bool done() const { return rest_.empty(); }

private:
    std::string_view rest_;
};

bool month_name(Scanner& in, int& month) {
    constexpr std::array<std::string_view, 12> names{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (!in.accept(names[i])) continue;
        month = static_cast<int>(i) + 1;
        return true;
    }
    return false;
}

bool clock(Scanner& in, std::tm& when, long& nanoseconds) {
    if (!in.number(when.tm_hour, 1, 2) || !in.accept(":") || !in.number(when.tm_min, 2, 2)) return false;
    if (in.accept(":")) {
        if (!in.number(when.tm_sec, 2, 2)) return false;
        if (in.accept(".") && !in.fraction(nanoseconds)) return false;
    }
    return when.tm_hour < 24 && when.tm_min < 60 && when.tm_sec <= 60;
}

/// A zone, if any: its offset from UTC in seconds.
bool zone(Scanner& in, std::optional<long>& offset) {
    in.spaces();
    if (in.accept("Z") || in.accept("UTC") || in.accept("GMT")) {
        offset = 0;
        return true;
    }
    const bool west = in.accept("-");
    if (!west && !in.accept("+")) return true;
    int hours = 0;
    int minutes = 0;
    if (!in.number(hours, 2, 2)) return false;
    in.accept(":");
    if (!in.number(minutes, 0, 2) || hours > 14 || minutes > 59) return false;
    offset = (hours * 3600L + minutes * 60L) * (west ? -1 : 1);
    return true;
}
}  // namespace

std::optional<Wide> read_date(std::string_view text) {
    Scanner in{text};
    std::tm when{};
    int year = 0;
    int month = 0;
    in.spaces();
    const bool named = month_name(in, month);
    if (named) {
        in.spaces();
        if (!in.number(when.tm_mday, 1, 2)) return std::nullopt;
        in.accept(",");
        in.spaces();
        if (!in.number(year, 4, 4)) return std::nullopt;
    } else if (!in.number(year, 4, 4) || !in.accept("-") || !in.number(month, 2, 2) || !in.accept("-") ||
               !in.number(when.tm_mday, 2, 2)) {
        return std::nullopt;
    }
    if (month < 1 || month > 12 || when.tm_mday < 1 || when.tm_mday > 31 || year < 1900) return std::nullopt;
    long nanoseconds = 0;
    std::optional<long> offset;
    const bool timed = in.accept("T");
    in.spaces();
    if (timed || !in.done()) {
        if (!clock(in, when, nanoseconds) || !zone(in, offset)) return std::nullopt;
        in.spaces();
        if (!in.done()) return std::nullopt;
    }
    when.tm_year = year - 1900;
    when.tm_mon = month - 1;
    when.tm_isdst = -1;
    const std::time_t seconds = offset ? timegm(&when) - *offset : std::mktime(&when);
    return Wide{seconds} * ns_per_second + nanoseconds;
}

std::optional<Wide> read_seconds(std::string_view text) {
    std::size_t digits = 0;
    Wide seconds = 0;
    while (digits < text.size() && base::is_digit(text[digits])) {
        if (digits == 18) return std::nullopt;
        seconds = seconds * 10 + (text[digits++] - '0');
    }
    Scanner in{text.substr(digits)};
    long nanoseconds = 0;
    const bool point = in.accept(".");
    const bool decimals = point && in.fraction(nanoseconds);
    if (!in.done() || (digits == 0 && !decimals)) return std::nullopt;
    return seconds * ns_per_second + nanoseconds;
}

}  // namespace dissect::filter
