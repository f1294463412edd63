#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "fleet/schema/schema.h"

namespace fleet::questions {

/// What a question is about: the intervals that end after `from_ns` and not after `to_ns`.
struct Scope {
    std::int64_t from_ns = 0;
    std::int64_t to_ns = 0;
    schema::Resolution resolution = schema::Resolution::interval;
};

/// Without a `resolution`: intervals up to half an hour, minutes up to six hours, hours beyond, and for whole hours.
/// Times of minutes and hours are rounded down to them, as the roll-ups know no others; `to_ns` in the future stays.
Scope scope_of(std::int64_t from_ns, std::int64_t to_ns, std::int64_t now_ns,
               std::optional<schema::Resolution> resolution);

std::string_view name_of(schema::Resolution resolution);  ///< "interval", "minute", "hour"

}  // namespace fleet::questions
