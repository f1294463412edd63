#include "tui/model/number_forms.h"

#include <charconv>
#include <cmath>
#include <span>

#include "dissect/filter/literal.h"

namespace tui {

namespace {

using exporters::Unit;

struct Suffix {
    std::string_view text;
    double factor;
};
constexpr double kibi = 1024;
constexpr Suffix time_suffixes[] = {{"", 1},     {"ns", 1},     {"us", 1e3},   {"ms", 1e6},   {"s", 1e9},
                                    {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
constexpr Suffix count_suffixes[] = {{"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}};
/// Sizes are powers of 1024, as everywhere in the program's options, unless they say kB.
constexpr Suffix sizes[] = {{"", 1},
                            {"B", 1},
                            {"k", kibi},
                            {"K", kibi},
                            {"M", kibi* kibi},
                            {"G", kibi* kibi* kibi},
                            {"T", kibi* kibi* kibi* kibi},
                            {"KiB", kibi},
                            {"MiB", kibi* kibi},
                            {"GiB", kibi* kibi* kibi},
                            {"TiB", kibi* kibi* kibi* kibi},
                            {"kB", 1e3},
                            {"KB", 1e3},
                            {"MB", 1e6},
                            {"GB", 1e9},
                            {"TB", 1e12}};
constexpr double bit = 1.0 / 8;
constexpr Suffix octet_rates[] = {
    {"", 1},      {"k", 1e3},          {"K", 1e3},          {"M", 1e6},          {"G", 1e9},          {"T", 1e12},
    {"B", 1},     {"kB", 1e3},         {"KB", 1e3},         {"MB", 1e6},         {"GB", 1e9},         {"TB", 1e12},
    {"bit", bit}, {"kbit", 1e3 * bit}, {"Mbit", 1e6 * bit}, {"Gbit", 1e9 * bit}, {"Tbit", 1e12 * bit}};
constexpr Suffix bit_rates[] = {{"", 1},    {"k", 1e3},    {"K", 1e3},    {"M", 1e6},    {"G", 1e9},    {"T", 1e12},
                                {"bit", 1}, {"kbit", 1e3}, {"Mbit", 1e6}, {"Gbit", 1e9}, {"Tbit", 1e12}};
constexpr Suffix share_suffixes[] = {{"", decimal_parts}, {"%", decimal_parts / 100}};
constexpr Suffix ratios[] = {{"", decimal_parts},        {"k", 1e3 * decimal_parts}, {"K", 1e3 * decimal_parts},
                             {"M", 1e6 * decimal_parts}, {"G", 1e9 * decimal_parts}, {"%", decimal_parts / 100}};

std::optional<std::uint64_t> read(std::string_view text, std::span<const Suffix> suffixes) {
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
    if (code != std::errc{} || !std::isfinite(number) || number < 0) return {};
    const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
    for (const Suffix& suffix : suffixes) {
        if (suffix.text != unit) continue;
        const double value = number * suffix.factor;
        // Values of decimals have a sign.
        if (value >= 0x1p63) return {};
        return static_cast<std::uint64_t>(std::llround(value));
    }
    return {};
}

/// Whole numbers as the filter's language has them come first: they are exact, and may be hexadecimal.
template <const auto& suffixes>
std::optional<std::uint64_t> whole(std::string_view text) {
    if (const auto plain = dissect::filter::read_number(text)) return plain;
    return read(text, suffixes);
}
template <const auto& suffixes>
std::optional<std::uint64_t> decimal(std::string_view text) {
    return read(text, suffixes);
}

constexpr dissect::NumberForm time_form{whole<time_suffixes>, "a time such as 250us or 1.5ms, or a number of ns"};
constexpr dissect::NumberForm count_form{whole<count_suffixes>, "a number such as 17, 10k or 1.5M"};
constexpr dissect::NumberForm size_form{whole<sizes>, "a size such as 512, 64K or 1.5MB"};
constexpr dissect::NumberForm octet_rate_form{whole<octet_rates>,
                                              "a rate such as 1.5G octets or 10Gbit, each per second"};
constexpr dissect::NumberForm bit_rate_form{whole<bit_rates>, "a rate such as 10G bits per second"};
constexpr dissect::NumberForm share_form{decimal<share_suffixes>, "a share such as 5% or 0.05"};
constexpr dissect::NumberForm ratio_form{decimal<ratios>, "a number such as 1.5, 20 or 10k"};

}  // namespace

const dissect::NumberForm* form_of(Unit unit) {
    switch (unit) {
        case Unit::ns: return &time_form;
        case Unit::count: return &count_form;
        case Unit::bytes: return &size_form;
        case Unit::bytes_per_sec: return &octet_rate_form;
        case Unit::bits_per_sec: return &bit_rate_form;
        case Unit::share: return &share_form;
        case Unit::ratio: return &ratio_form;
        case Unit::text:
        case Unit::frame:
        case Unit::time:
        case Unit::code: break;
    }
    return nullptr;
}

}  // namespace tui
