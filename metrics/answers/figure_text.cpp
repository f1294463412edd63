#include "metrics/answers/figure_text.h"

#include <fmt/core.h>

#include "base/quantities.h"

namespace metrics::inline answers {

std::string duration(double ns) { return base::format_duration(ns); }
std::string octets(double count) { return base::format_size(count); }
std::string bit_rate(double bytes_per_sec) { return base::format_bit_rate(bytes_per_sec * 8); }
std::string percent(double share) { return base::format_percent(share); }
std::string number(std::uint64_t value) { return base::group_digits(value); }
std::string rough(double value) { return base::format_decimal(value); }
std::string counted(std::uint64_t value, std::string_view singular, std::string_view plural) {
    return base::format_counted(value, singular, plural);
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
    return fmt::format("{} {}", rough(evidence.value),
                       evidence.value == 1 ? singular_of(evidence.unit) : name_of(evidence.unit));
}

}  // namespace metrics::answers
