#include "exporters/filter/number_forms.h"

#include <cmath>

#include "base/quantities.h"
#include "dissect/filter/literal.h"

namespace exporters::filter {

namespace {

/// A number of a filter, or nothing where the parser expects another.
template <class T>
std::optional<T> value_of(const base::Parsed<T>& parsed) {
    return parsed ? std::optional<T>(*parsed) : std::nullopt;
}

/// In parts of 10^-9; nothing where the filter's 63 bits do not hold it.
std::optional<std::uint64_t> scaled(std::optional<double> value, double factor) {
    if (!value || *value * factor >= 0x1p63) return {};
    return static_cast<std::uint64_t>(std::llround(*value * factor));
}

std::optional<std::uint64_t> signed_range(std::optional<std::uint64_t> value) {
    return value && *value < std::uint64_t{1} << 63 ? value : std::nullopt;
}

/// Whole numbers as the filter's language has them come first: they are exact, and may be hexadecimal.
template <std::optional<std::uint64_t> (*measured)(std::string_view)>
std::optional<std::uint64_t> whole(std::string_view text) {
    const auto plain = dissect::filter::read_number(text);
    return plain ? plain : measured(text);
}

std::optional<std::uint64_t> time_of(std::string_view text) {
    return value_of(base::parse_duration(text, base::BareDuration::nanoseconds, 0));
}
std::optional<std::uint64_t> count_of(std::string_view text) { return value_of(base::parse_count(text)); }
std::optional<std::uint64_t> size_of(std::string_view text) {
    return signed_range(value_of(base::parse_size(text, {.decimals = true, .decimal_bytes = true})));
}
std::optional<std::uint64_t> byte_rate_of(std::string_view text) {
    return scaled(value_of(base::parse_byte_rate(text, {.bare_prefix = true})), 1);
}
std::optional<std::uint64_t> bit_rate_of(std::string_view text) { return value_of(base::parse_bit_rate(text, 0)); }
std::optional<std::uint64_t> share_of(std::string_view text) {
    return scaled(value_of(base::parse_share(text, HUGE_VAL)), decimal_parts);
}
std::optional<std::uint64_t> ratio_of(std::string_view text) {
    return text.ends_with('%') ? share_of(text) : scaled(value_of(base::parse_decimal(text)), decimal_parts);
}

constexpr dissect::NumberForm time_form{whole<time_of>, "a time such as 250us or 1.5ms, or a number of ns"};
constexpr dissect::NumberForm count_form{whole<count_of>, "a number such as 17, 10k or 1.5M"};
constexpr dissect::NumberForm size_form{whole<size_of>, "a size such as 512, 64K or 1.5MB"};
constexpr dissect::NumberForm byte_rate_form{whole<byte_rate_of>,
                                             "a rate such as 1.5G bytes or 10Gbit, each per second"};
constexpr dissect::NumberForm bit_rate_form{whole<bit_rate_of>, "a rate such as 10G bits per second"};
constexpr dissect::NumberForm share_form{share_of, "a share such as 5% or 0.05"};
constexpr dissect::NumberForm ratio_form{ratio_of, "a number such as 1.5, 20 or 10k"};

}  // namespace

const dissect::NumberForm* form_of(Unit unit) {
    switch (unit) {
        case Unit::ns: return &time_form;
        case Unit::count: return &count_form;
        case Unit::bytes: return &size_form;
        case Unit::bytes_per_sec: return &byte_rate_form;
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

}  // namespace exporters::filter
