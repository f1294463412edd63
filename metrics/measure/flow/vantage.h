#pragma once
#include <cstdint>

#include "metrics/measure/flow/flow.h"

namespace metrics::inline measure::inline flow {

/// How many routers a packet has passed. The sender is assumed to have used the next higher usual hop limit.
std::uint8_t hops_taken(std::uint8_t hop_limit);

/// Where the tap sits, seen from the flow's sender, best evidence first: the direction that the capture notes, the
/// routers passed on either side, the two half round trips. `reverse` may be nullptr.
Vantage vantage_of(const Flow& flow, const Flow* reverse);

}  // namespace metrics::measure::flow
