#pragma once
#include <optional>

#include "fabric/discovery/discover.h"
#include "fabric/traced_route.h"

namespace fabric::discovery {

/// Asks the switches on the way. `from` and `to` are ports with a link, or port 0 of a switch. `lid` is one of the
/// destination's LIDs: without it, the least.
TracedRoute trace_route(QueryPool& pool, const Discovery& found, PortId from, PortId to, std::optional<Lid> lid);

}  // namespace fabric::discovery
