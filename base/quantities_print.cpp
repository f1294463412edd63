// Quantities as people read them.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <fmt/core.h>
#include <span>

#include "base/quantities.h"

namespace base {

namespace {

// Relaxed: a process sets it before it starts threads.
std::atomic<Charset> process_charset = Charset::ascii;

constexpr std::string_view absent = "-";

/// A unit, and from which printed value on the next unit takes its place.
struct Step {
    double size;
    double limit;
    std::string_view unit;
};
constexpr double no_limit = HUGE_VAL;

constexpr std::array durations{Step{1, 1000, "ns"},         Step{1e3, 1000, "us"},  Step{1e6, 1000, "ms"},
                               Step{1e9, 120, "s"},         Step{60e9, 120, "min"}, Step{3600e9, 48, "h"},
                               Step{86400e9, no_limit, "d"}};
constexpr double kibi = 1024;
constexpr std::array sizes{Step{1, 1024, "B"},
                           Step{kibi, 1024, "KiB"},
                           Step{kibi * kibi, 1024, "MiB"},
                           Step{kibi * kibi * kibi, 1024, "GiB"},
                           Step{kibi * kibi * kibi * kibi, 1024, "TiB"},
                           Step{kibi * kibi * kibi * kibi * kibi, no_limit, "PiB"}};
constexpr std::array decimal_steps{Step{1, 1000, ""},    Step{1e3, 1000, "k"},  Step{1e6, 1000, "M"},
                                   Step{1e9, 1000, "G"}, Step{1e12, 1000, "T"}, Step{1e15, no_limit, "P"}};

/// Decimals that make three significant digits of a number from 1 on.
int decimals_of(double magnitude) { return magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0; }

double rounded(double magnitude) {
    const double scale = std::pow(10.0, decimals_of(magnitude));
    return std::round(magnitude * scale) / scale;
}

constexpr double least_shown = 0.005;  ///< rounds to 0.01

/// The number alone, in the unit that fits, and that unit.
struct Scaled {
    std::string number;
    std::string_view unit;
};
Scaled scaled(double value, std::span<const Step> steps) {
    const double magnitude = std::abs(value);
    std::size_t at = 0;
    while (at + 1 < steps.size() && rounded(magnitude / steps[at].size) >= steps[at].limit) ++at;
    const double shown = magnitude / steps[at].size;
    const bool whole = at == 0 && shown == std::floor(shown);
    if (magnitude > 0 && shown < least_shown) return {value < 0 ? ">-0.01" : "<0.01", steps[at].unit};
    return {fmt::format("{}{:.{}f}", value < 0 ? "-" : "", shown, whole ? 0 : decimals_of(shown)), steps[at].unit};
}

bool is_absent(const std::optional<double>& value) { return !value || !std::isfinite(*value); }

std::string joined(std::string_view number, std::string_view prefix, std::string_view unit, const Style& style) {
    return fmt::format("{}{}{}{}", number, style.spacing == Spacing::sentence ? " " : "", prefix, unit);
}

std::string joined_duration(const Scaled& shown, const Style& style) {
    const bool micro = shown.unit == "us" && style.charset == Charset::utf8;
    return joined(shown.number, "", micro ? "µs" : shown.unit, style);
}

std::string format_decimal_unit(std::optional<double> value, std::string_view unit, const Style& style) {
    if (is_absent(value)) return std::string(absent);
    const Scaled shown = scaled(*value, decimal_steps);
    return joined(shown.number, shown.unit, unit, style);
}

void drop_zeros(std::string& number) {
    if (number.find('.') == std::string::npos) return;
    while (number.back() == '0') number.pop_back();
    if (number.back() == '.') number.pop_back();
}

struct Divisor {
    std::uint64_t factor;
    std::string_view unit;
};
constexpr std::array duration_divisors{Divisor{std::uint64_t{86400} * 1'000'000'000, "d"},
                                       Divisor{std::uint64_t{3600} * 1'000'000'000, "h"},
                                       Divisor{std::uint64_t{60} * 1'000'000'000, "m"},
                                       Divisor{1'000'000'000, "s"},
                                       Divisor{1'000'000, "ms"},
                                       Divisor{1'000, "us"}};
constexpr std::array size_divisors{Divisor{std::uint64_t{1} << 40, "TiB"}, Divisor{std::uint64_t{1} << 30, "GiB"},
                                   Divisor{std::uint64_t{1} << 20, "MiB"}, Divisor{std::uint64_t{1} << 10, "KiB"}};
constexpr std::array rate_divisors{Divisor{1'000'000'000'000, "T"}, Divisor{1'000'000'000, "G"},
                                   Divisor{1'000'000, "M"}, Divisor{1'000, "k"}};

/// The first divisor that divides the value; else `smallest`.
Divisor divisor_of(std::uint64_t value, std::span<const Divisor> divisors, std::string_view smallest) {
    for (const Divisor& divisor : divisors)
        if (value != 0 && value % divisor.factor == 0) return divisor;
    return {1, smallest};
}

std::string spell(std::uint64_t value, std::span<const Divisor> divisors, std::string_view smallest) {
    const Divisor divisor = divisor_of(value, divisors, smallest);
    return fmt::format("{}{}", value / divisor.factor, divisor.unit);
}

/// A size that is set and not measured: people call it 64 KiB.
bool is_exact_power(double bytes) {
    constexpr double most = 0x1p62;
    if (!(bytes >= 1024) || bytes > most || bytes != std::floor(bytes)) return false;
    return std::has_single_bit(static_cast<std::uint64_t>(bytes));
}

}  // namespace

Charset charset() { return process_charset.load(std::memory_order_relaxed); }
void set_charset(Charset charset) { process_charset.store(charset, std::memory_order_relaxed); }

std::string format_duration(std::optional<double> ns, Style style) {
    if (is_absent(ns)) return std::string(absent);
    return joined_duration(scaled(*ns, durations), style);
}

std::string format_interval(std::optional<double> ns, Style style) {
    if (is_absent(ns)) return std::string(absent);
    Scaled shown = scaled(*ns, durations);
    drop_zeros(shown.number);
    return joined_duration(shown, style);
}

std::string format_size(std::optional<double> bytes, Style style) {
    if (is_absent(bytes)) return std::string(absent);
    if (is_exact_power(*bytes)) return format_exact_size(static_cast<std::uint64_t>(*bytes), style);
    const Scaled shown = scaled(*bytes, sizes);
    return joined(shown.number, "", shown.unit, style);
}

std::string format_bit_rate(std::optional<double> bits_per_sec, Style style) {
    return format_decimal_unit(bits_per_sec, "bit/s", style);
}

std::string format_byte_rate(std::optional<double> bytes_per_sec, Style style) {
    return format_decimal_unit(bytes_per_sec, "B/s", style);
}

std::string format_count(std::optional<double> count) {
    return format_decimal_unit(count, "", {Spacing::column, Charset::ascii});
}

std::string format_percent(std::optional<double> share, Style style) {
    if (is_absent(share)) return std::string(absent);
    constexpr std::array step{Step{1, no_limit, ""}};
    std::string number = scaled(*share * 100, step).number;
    drop_zeros(number);
    return joined(number, "", "%", style);
}

std::string format_decimal(std::optional<double> value) {
    if (is_absent(value)) return std::string(absent);
    constexpr double from_here_grouped = 999.5;
    constexpr double most = 1e18;
    const double magnitude = std::abs(*value);
    if (magnitude >= from_here_grouped && magnitude < most)
        return fmt::format("{}{}", *value < 0 ? "-" : "",
                           group_digits(static_cast<std::uint64_t>(std::llround(magnitude))));
    constexpr std::array step{Step{1, no_limit, ""}};
    std::string number = scaled(*value, step).number;
    drop_zeros(number);
    return number;
}

std::string group_digits(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t at = text.size(); at > 3;) {
        at -= 3;
        text.insert(at, 1, ',');
    }
    return text;
}

std::string format_counted(std::uint64_t count, std::string_view singular, std::string_view plural) {
    if (count == 1) return fmt::format("1 {}", singular);
    if (plural.empty()) return fmt::format("{} {}s", group_digits(count), singular);
    return fmt::format("{} {}", group_digits(count), plural);
}

std::string format_exact_size(std::uint64_t bytes, Style style) {
    const Divisor divisor = divisor_of(bytes, size_divisors, "B");
    return joined(std::to_string(bytes / divisor.factor), "", divisor.unit, style);
}

std::string spell_duration(std::uint64_t ns) { return spell(ns, duration_divisors, "ns"); }
std::string spell_size(std::uint64_t bytes) { return spell(bytes, size_divisors, ""); }
std::string spell_bit_rate(std::uint64_t bits_per_sec) { return spell(bits_per_sec, rate_divisors, "bps"); }

}  // namespace base
