#include "fleet/questions/scope.h"

#include "base/clock.h"

namespace fleet::questions {
namespace {

using schema::Resolution;

constexpr std::int64_t minute_ns = 60 * base::ns_per_sec;
constexpr std::int64_t hour_ns = 60 * minute_ns;

Resolution chosen(std::int64_t from_ns, std::int64_t to_ns) {
    const std::int64_t length_ns = to_ns - from_ns;
    if (length_ns >= hour_ns && from_ns % hour_ns == 0 && to_ns % hour_ns == 0) return Resolution::hour;
    if (length_ns <= hour_ns / 2) return Resolution::interval;
    return length_ns <= 6 * hour_ns ? Resolution::minute : Resolution::hour;
}

}  // namespace

Scope scope_of(std::int64_t from_ns, std::int64_t to_ns, std::int64_t now_ns, std::optional<Resolution> resolution) {
    Scope scope{from_ns, to_ns, resolution.value_or(chosen(from_ns, to_ns))};
    if (scope.resolution == Resolution::interval) return scope;
    const std::int64_t step = scope.resolution == Resolution::minute ? minute_ns : hour_ns;
    scope.from_ns -= scope.from_ns % step;
    if (scope.to_ns < now_ns) scope.to_ns -= scope.to_ns % step;
    return scope;
}

std::string_view name_of(Resolution resolution) {
    switch (resolution) {
        case Resolution::interval: break;
        case Resolution::minute: return "minute";
        case Resolution::hour: return "hour";
    }
    return "interval";
}

}  // namespace fleet::questions
