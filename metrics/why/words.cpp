#include "metrics/why/words.h"

#include <array>
#include <cmath>
#include <fmt/core.h>

namespace metrics::why {

namespace {

/// Three digits: "1.23", "12.3", "123".
std::string digits(double value) {
    const double size = std::abs(value);
    if (size >= 99.95) return fmt::format("{:.0f}", value);
    std::string text = size >= 9.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
    return text;
}

struct Scale {
    double least;
    std::string_view unit;
};

template <std::size_t count>
std::string scaled(double value, const std::array<Scale, count>& scales) {
    if (!std::isfinite(value)) return "?";
    for (const Scale& scale : scales)
        if (std::abs(value) >= scale.least * 0.9995) return digits(value / scale.least) + std::string(scale.unit);
    return digits(value / scales.back().least) + std::string(scales.back().unit);
}

}  // namespace

std::string duration(double ns) {
    if (ns >= 120e9) return fmt::format("{:.0f} min {:.0f} s", std::floor(ns / 60e9), std::fmod(ns, 60e9) / 1e9);
    return scaled(ns, std::array<Scale, 4>{{{1e9, " s"}, {1e6, " ms"}, {1e3, " us"}, {1, " ns"}}});
}

std::string octets(double count) {
    return scaled(count, std::array<Scale, 5>{{{1e12, " TB"}, {1e9, " GB"}, {1e6, " MB"}, {1e3, " kB"}, {1, " B"}}});
}

std::string bit_rate(double bytes_per_sec) {
    return scaled(bytes_per_sec * 8,
                  std::array<Scale, 4>{{{1e9, " Gbit/s"}, {1e6, " Mbit/s"}, {1e3, " kbit/s"}, {1, " bit/s"}}});
}

std::string percent(double share) {
    const double value = share * 100;
    if (value > 0 && value < 0.01) return "under 0.01 %";
    return digits(value) + " %";
}

std::string number(std::uint64_t value) {
    const std::string plain = std::to_string(value);
    std::string text;
    for (std::size_t at = 0; at < plain.size(); ++at) {
        if (at > 0 && (plain.size() - at) % 3 == 0) text += ',';
        text += plain[at];
    }
    return text;
}

std::string rough(double value) {
    if (!std::isfinite(value)) return "?";
    if (value >= 1000 && value < 1e18) return number(static_cast<std::uint64_t>(std::llround(value)));
    return digits(value);
}

std::string counted(std::uint64_t value, std::string_view singular, std::string_view plural) {
    if (value == 1) return fmt::format("1 {}", singular);
    return plural.empty() ? fmt::format("{} {}s", number(value), singular)
                          : fmt::format("{} {}", number(value), plural);
}

std::string figure(const Evidence& evidence) {
    switch (evidence.unit) {
        case EvidenceUnit::none: return rough(evidence.value);
        case EvidenceUnit::ns: return duration(evidence.value);
        case EvidenceUnit::bytes: return octets(evidence.value);
        case EvidenceUnit::bytes_per_second: return bit_rate(evidence.value);
        case EvidenceUnit::share: return percent(evidence.value);
        default: break;
    }
    // "1 packet", "2 packets"; "1 recovery".
    std::string unit(name_of(evidence.unit));
    if (evidence.value == 1 && unit.size() > 3 && unit.ends_with("ies"))
        unit.replace(unit.size() - 3, 3, "y");
    else if (evidence.value == 1 && unit.size() > 1 && unit.back() == 's')
        unit.pop_back();
    return fmt::format("{} {}", rough(evidence.value), unit);
}

}  // namespace metrics::why
