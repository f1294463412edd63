#include "text/quantities.h"

#include <array>
#include <charconv>
#include <cmath>
#include <fmt/core.h>
#include <optional>
#include <string_view>

namespace text {

namespace {

constexpr std::uint64_t ten_years_ns = 315'360'000ULL * 1'000'000'000;

/// A decimal number and the unit behind it.
struct Measured {
    double number = 0;
    std::string_view unit;
};
std::optional<Measured> measured(std::string_view value) {
    Measured out;
    const auto [stop, code] =
        std::from_chars(value.data(), value.data() + value.size(), out.number, std::chars_format::fixed);
    if (code != std::errc{} || !std::isfinite(out.number)) return {};
    out.unit = value.substr(static_cast<std::size_t>(stop - value.data()));
    return out;
}

}  // namespace

std::string take_number(const std::string& value, std::uint64_t least, std::uint64_t most, std::uint64_t& into) {
    const char* end = value.data() + value.size();
    std::uint64_t number = 0;
    const auto [stop, code] = std::from_chars(value.data(), end, number);
    if (code != std::errc{} || stop != end || number < least || number > most)
        return fmt::format("a number from {} to {}", least, most);
    into = number;
    return {};
}

std::string take_duration(const std::string& value, std::uint64_t& into_ns) {
    struct Unit {
        std::string_view name;
        double ns;
    };
    constexpr std::array units{Unit{"", 1e9},   Unit{"s", 1e9},    Unit{"ms", 1e6},   Unit{"us", 1e3},   Unit{"ns", 1.},
                               Unit{"m", 60e9}, Unit{"min", 60e9}, Unit{"h", 3600e9}, Unit{"d", 86400e9}};
    const auto given = measured(value);
    for (const Unit& unit : units) {
        if (!given || given->unit != unit.name) continue;
        const double ns = given->number * unit.ns;
        if (!(ns >= 1) || ns > static_cast<double>(ten_years_ns)) break;
        into_ns = static_cast<std::uint64_t>(std::llround(ns));
        return {};
    }
    return "a time such as 2, 1.5s, 100ms, 50us or 5m";
}

std::string take_rate(const std::string& value, std::uint64_t& into) {
    constexpr std::string_view prefixes = "kMGT";
    const auto given = measured(value);
    if (given) {
        std::string_view unit = given->unit;
        for (const std::string_view name : {"bit/s", "bps"})
            if (unit.ends_with(name)) unit.remove_suffix(name.size());
        double factor = 1;
        const std::size_t at = unit.size() == 1 ? prefixes.find(unit == "K" ? 'k' : unit[0]) : std::string_view::npos;
        if (at != std::string_view::npos) factor = std::pow(1000.0, static_cast<double>(at) + 1);
        const double rate = given->number * factor;
        if ((unit.empty() || at != std::string_view::npos) && rate >= 1000 && rate <= 1e15) {
            into = static_cast<std::uint64_t>(std::llround(rate));
            return {};
        }
    }
    return "a rate in bits per second such as 10G, 2.5G or 800M";
}

std::string take_size(const std::string& value, std::uint64_t least, std::uint64_t most, std::uint64_t& into) {
    constexpr std::string_view units = "KMGT";
    std::string_view digits(value);
    unsigned shift = 0;
    for (const std::string_view behind : {"iB", "B"})
        if (digits.ends_with(behind)) {
            digits.remove_suffix(behind.size());
            break;
        }
    if (!digits.empty()) {
        const char letter = digits.back() == 'k' ? 'K' : digits.back();
        if (const std::size_t at = units.find(letter); at != std::string_view::npos) {
            shift = 10 * (static_cast<unsigned>(at) + 1);
            digits.remove_suffix(1);
        }
    }
    std::uint64_t number = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, code] = std::from_chars(digits.data(), end, number);
    if (code != std::errc{} || stop != end || number > (most >> shift) || (number << shift) < least)
        return fmt::format("a size from {} to {} octets, such as 64, 64K or 16M,", least, most);
    into = number << shift;
    return {};
}

std::string take_switch(const std::string& value, bool& into) {
    if (value != "on" && value != "off") return "on or off";
    into = value == "on";
    return {};
}

}  // namespace text
