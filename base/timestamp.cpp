#include "base/timestamp.h"

#include <ctime>

#include "base/text_format.h"

namespace base {

namespace {

constexpr std::int64_t ns_per_second = 1'000'000'000;

void append_padded(std::string& out, std::uint64_t value, unsigned digits) {
    char text[20];
    for (unsigned i = digits; i > 0; --i) {
        text[i - 1] = static_cast<char>('0' + value % 10);
        value /= 10;
    }
    out.append(text, digits);
}

}  // namespace

void Timestamps::append_fraction(std::string& out, std::uint64_t nanoseconds) const {
    out += '.';
    if (nanoseconds_)
        append_padded(out, nanoseconds, 9);
    else
        append_padded(out, nanoseconds / 1000, 6);
}

void Timestamps::append_clock(std::string& out, std::int64_t seconds) {
    if (seconds != cached_second_ || cached_.empty()) {
        cached_second_ = seconds;
        cached_.clear();
        const auto when = static_cast<std::time_t>(seconds);
        std::tm local{};
        char text[64];
        const char* form = style_ == TimeStyle::date ? "%Y-%m-%d %H:%M:%S" : "%H:%M:%S";
        if (localtime_r(&when, &local) != nullptr) cached_.assign(text, std::strftime(text, sizeof text, form, &local));
    }
    out += cached_;
}

void Timestamps::append_span(std::string& out, std::int64_t nanoseconds) const {
    out += nanoseconds < 0 ? '-' : ' ';
    const auto magnitude =
        nanoseconds < 0 ? 0 - static_cast<std::uint64_t>(nanoseconds) : static_cast<std::uint64_t>(nanoseconds);
    const std::uint64_t seconds = magnitude / ns_per_second;
    if (seconds / 3600 < 100)
        append_padded(out, seconds / 3600, 2);
    else
        append_decimal(out, seconds / 3600);
    out += ':';
    append_padded(out, seconds / 60 % 60, 2);
    out += ':';
    append_padded(out, seconds % 60, 2);
    append_fraction(out, magnitude % ns_per_second);
}

void Timestamps::append(std::string& out, std::int64_t time_ns) {
    if (style_ == TimeStyle::none) return;
    const bool relative = style_ == TimeStyle::since_previous || style_ == TimeStyle::since_first;
    if (relative) {
        const std::int64_t from = reference_.value_or(time_ns);
        append_span(out, time_difference(time_ns, from));
        if (!reference_ || style_ == TimeStyle::since_previous) reference_ = time_ns;
    } else if (is_out_of_range(time_ns)) {
        out += out_of_range;
    } else {
        // Rounded down, so that the fraction is positive before 1970 too.
        const std::int64_t remainder = time_ns % ns_per_second;
        const std::int64_t seconds = time_ns / ns_per_second - (remainder < 0 ? 1 : 0);
        if (style_ == TimeStyle::seconds) {
            if (seconds < 0) out += '-';
            append_decimal(out, static_cast<std::uint64_t>(seconds < 0 ? -seconds : seconds));
        } else {
            append_clock(out, seconds);
        }
        append_fraction(out, static_cast<std::uint64_t>(remainder < 0 ? remainder + ns_per_second : remainder));
    }
    out += ' ';
}

}  // namespace base
