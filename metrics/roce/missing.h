#pragma once
#include <cstdint>

#include "metrics/flow/flow.h"

namespace metrics {

/// The positions [begin, end) did not pass when later ones did. `identification`: of the packet that showed it. Where
/// there is no room the oldest stretch is given up.
void note_missing(MissingRanges& missing, std::uint64_t begin, std::uint64_t end, std::int64_t now_ns,
                  std::uint16_t identification);
/// Whether the position was missing; it no longer is. `out` is the stretch that it lay in.
bool take_missing(MissingRanges& missing, std::uint64_t position, MissingRanges::Range& out);

}  // namespace metrics
