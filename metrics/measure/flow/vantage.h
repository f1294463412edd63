#pragma once
#include <cstdint>

#include "metrics/measure/flow/flow.h"

namespace metrics::inline measure::inline flow {

/// How many routers a packet has passed, taking its sender to have begun with the next of the usual hop limits.
std::uint8_t hops_taken(std::uint8_t hop_limit);

/// Where the tap sits, seen from the flow's sender, best evidence first: the direction that the capture notes, the
/// routers passed on either side, the two half round trips. `reverse` may be nullptr.
Vantage vantage_of(const Flow& flow, const Flow* reverse);

}  // namespace metrics::measure::flow
