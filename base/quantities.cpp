// Quantities as people write them.
#include "base/quantities.h"

#include <array>
#include <charconv>
#include <cmath>
#include <fmt/core.h>
#include <span>

namespace base {

namespace {

using base::Failure;

constexpr std::uint64_t ten_years_ns = 315'360'000ULL * 1'000'000'000;
constexpr double beyond_signed = 0x1p63;

/// A decimal number, and the unit after it.
struct Quantity {
    double number = 0;
    std::string_view digits;
    std::string_view unit;
};
std::optional<Quantity> split(std::string_view text) {
    Quantity out;
    const char* const end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, out.number, std::chars_format::fixed);
    if (code != std::errc{} || !std::isfinite(out.number) || text.starts_with('-')) return {};
    out.digits = text.substr(0, static_cast<std::size_t>(stop - text.data()));
    out.unit = text.substr(out.digits.size());
    return out;
}

/// The number times the factor: exact for whole numbers, rounded for others; nothing where it is 2^64 or more.
std::optional<std::uint64_t> product(const Quantity& quantity, std::uint64_t factor, bool decimals) {
    std::uint64_t whole = 0;
    const char* const end = quantity.digits.data() + quantity.digits.size();
    const auto [stop, code] = std::from_chars(quantity.digits.data(), end, whole);
    if (code == std::errc{} && stop == end) {
        if (factor != 0 && whole > ~std::uint64_t{0} / factor) return {};
        return whole * factor;
    }
    const double value = quantity.number * static_cast<double>(factor);
    if (!decimals || value >= beyond_signed) return {};
    return static_cast<std::uint64_t>(std::llround(value));
}

/// "M" is 1000 or 1024 to the power of 2; the empty prefix is 1.
std::optional<std::uint64_t> factor_of(std::string_view prefix, std::uint64_t base) {
    constexpr std::string_view prefixes = "kMGT";
    if (prefix.empty()) return 1;
    const std::size_t at = prefix == "K" ? 0 : prefixes.find(prefix);
    if (prefix.size() != 1 || at == std::string_view::npos) return {};
    std::uint64_t factor = base;
    for (std::size_t i = 0; i < at; ++i) factor *= base;
    return factor;
}

/// Removes the first of `names` that `unit` ends with, and returns that name; empty if absent.
std::string_view take_end(std::string_view& unit, std::span<const std::string_view> names) {
    for (const std::string_view name : names)
        if (unit.ends_with(name)) {
            unit.remove_suffix(name.size());
            return name;
        }
    return {};
}
constexpr std::array<std::string_view, 3> bit_rate_names{"bit/s", "bps", "bit"};
constexpr std::array<std::string_view, 2> byte_rate_names{"B/s", "B"};
constexpr std::array<std::string_view, 2> byte_names{"iB", "B"};

std::string expected_size(const SizeForm& form) {
    if (form.letters_only) return "a number from 1 on, in millions of bytes or with k, m, g";
    if (form.decimals) return "a size such as 512, 64K or 1.5MB";
    return fmt::format("a size from {} to {} bytes, such as 64, 64K or 16M,", form.least, form.most);
}

std::optional<std::uint64_t> size_factor(std::string_view unit, const SizeForm& form) {
    if (unit.empty()) return form.bare_factor;
    if (form.letters_only) {
        if (unit == "m") return factor_of("M", 1024);
        if (unit == "g") return factor_of("G", 1024);
        return unit == "T" ? std::nullopt : factor_of(unit, 1024);
    }
    const std::string_view name = take_end(unit, byte_names);
    return factor_of(unit, form.decimal_bytes && name == "B" ? 1000 : 1024);
}

}  // namespace

Parsed<std::uint64_t> parse_number(std::string_view text, std::uint64_t least, std::uint64_t most) {
    const char* const end = text.data() + text.size();
    std::uint64_t number = 0;
    const auto [stop, code] = std::from_chars(text.data(), end, number);
    if (code != std::errc{} || stop != end || number < least || number > most)
        return Failure{fmt::format("a number from {} to {}", least, most)};
    return number;
}

Parsed<std::uint64_t> parse_duration(std::string_view text, BareDuration bare, std::uint64_t least_ns) {
    struct Unit {
        std::string_view name;
        double ns;
    };
    constexpr std::array units{Unit{"ns", 1.},  Unit{"us", 1e3},   Unit{"µs", 1e3},   Unit{"ms", 1e6},   Unit{"s", 1e9},
                               Unit{"m", 60e9}, Unit{"min", 60e9}, Unit{"h", 3600e9}, Unit{"d", 86400e9}};
    constexpr std::array<double, 4> bare_units{0, 1, 1e6, 1e9};
    const auto quantity = split(text);
    double unit_ns = 0;
    if (quantity && quantity->unit.empty()) unit_ns = bare_units[static_cast<std::size_t>(bare)];
    for (const Unit& unit : units)
        if (quantity && quantity->unit == unit.name) unit_ns = unit.ns;
    const double ns = unit_ns > 0 ? quantity->number * unit_ns : -1;
    if (ns >= static_cast<double>(least_ns) && ns <= static_cast<double>(ten_years_ns))
        return static_cast<std::uint64_t>(std::llround(ns));
    switch (bare) {
        case BareDuration::refused: return Failure<std::string>{"a time with its unit, such as 1.5s, 100ms or 50us,"};
        case BareDuration::nanoseconds: return Failure<std::string>{"a time such as 250us or 1.5ms, or a number of ns"};
        case BareDuration::milliseconds: return Failure<std::string>{"milliseconds, or a time such as 250us,"};
        case BareDuration::seconds: break;
    }
    return Failure<std::string>{"a time such as 2, 1.5s, 100ms, 50us or 5m"};
}

Parsed<std::uint64_t> parse_size(std::string_view text, const SizeForm& form) {
    const auto quantity = split(text);
    const auto factor = quantity ? size_factor(quantity->unit, form) : std::nullopt;
    const auto bytes = factor ? product(*quantity, *factor, form.decimals) : std::nullopt;
    if (!bytes || *bytes < form.least || *bytes > form.most) return Failure{expected_size(form)};
    return *bytes;
}

Parsed<std::uint64_t> parse_bit_rate(std::string_view text, std::uint64_t least) {
    constexpr double most = 1e15;
    auto quantity = split(text);
    if (quantity) take_end(quantity->unit, bit_rate_names);
    const auto factor = quantity ? factor_of(quantity->unit, 1000) : std::nullopt;
    const double rate = factor ? quantity->number * static_cast<double>(*factor) : -1;
    if (rate >= static_cast<double>(least) && rate <= most) return static_cast<std::uint64_t>(std::llround(rate));
    return Failure<std::string>{"a rate in bits per second such as 10G, 2.5G or 800M"};
}

Parsed<double> parse_byte_rate(std::string_view text, ByteRateForm form) {
    const auto expected = [&form] {
        return Failure<std::string>{form.bare_prefix ? "a rate such as 1.5G bytes or 10Gbit, each per second"
                                                     : "a rate such as 1000, 500MiB/s, 1GiB/s or 10Gbit/s"};
    };
    auto quantity = split(text);
    if (!quantity) return expected();
    std::string_view prefix = quantity->unit;
    double share = 1;
    std::uint64_t base = form.binary ? 1024 : 1000;
    if (!take_end(prefix, bit_rate_names).empty()) {
        share = 1.0 / 8;
        base = 1000;
    } else if (const std::string_view name = take_end(prefix, byte_rate_names); !name.empty()) {
        if (prefix.size() == 2 && prefix.ends_with('i')) {
            prefix.remove_suffix(1);
            base = 1024;
        }
    } else if (!prefix.empty() && !form.bare_prefix) {
        return expected();
    }
    const auto factor = factor_of(prefix, base);
    const double rate = factor ? quantity->number * static_cast<double>(*factor) * share : beyond_signed;
    if (rate >= beyond_signed) return expected();
    return rate;
}

Parsed<std::uint64_t> parse_count(std::string_view text) {
    const auto quantity = split(text);
    const auto factor = quantity ? factor_of(quantity->unit, 1000) : std::nullopt;
    const auto count = factor ? product(*quantity, *factor, true) : std::nullopt;
    if (!count || static_cast<double>(*count) >= beyond_signed)
        return Failure<std::string>{"a number such as 17, 10k or 1.5M"};
    return *count;
}

Parsed<double> parse_decimal(std::string_view text) {
    const auto quantity = split(text);
    const auto factor = quantity ? factor_of(quantity->unit, 1000) : std::nullopt;
    if (!factor) return Failure<std::string>{"a number such as 1.5, 20 or 10k"};
    return quantity->number * static_cast<double>(*factor);
}

Parsed<double> parse_share(std::string_view text, double most) {
    std::string_view digits = text;
    const bool percent = digits.ends_with('%');
    if (percent) digits.remove_suffix(1);
    double number = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, code] = std::from_chars(digits.data(), end, number);
    if (percent) number /= 100;
    if (code != std::errc{} || stop != end || !std::isfinite(number) || !(number >= 0 && number <= most))
        return Failure<std::string>{"a share such as 1% or 0.01"};
    return number;
}

namespace {

template <class T>
std::string taken(const Parsed<T>& parsed, T& into) {
    if (!parsed) return parsed.error();
    into = *parsed;
    return {};
}

}  // namespace

std::string take_number(const std::string& value, std::uint64_t least, std::uint64_t most, std::uint64_t& into) {
    return taken(parse_number(value, least, most), into);
}

std::string take_duration(const std::string& value, std::uint64_t& into_ns) {
    return taken(parse_duration(value), into_ns);
}

std::string take_rate(const std::string& value, std::uint64_t& into) { return taken(parse_bit_rate(value), into); }

std::string take_size(const std::string& value, std::uint64_t least, std::uint64_t most, std::uint64_t& into) {
    return taken(parse_size(value, {.least = least, .most = most}), into);
}

std::string take_switch(const std::string& value, bool& into) {
    if (value != "on" && value != "off") return "on or off";
    into = value == "on";
    return {};
}

}  // namespace base
