#pragma once
#include "base/result.h"
#include "fabric/discovery/discover.h"
#include "fabric/traced_route.h"

namespace fabric::discovery {

/// Asks the switches on the way. `from` and `to` are ports with a link, or port 0 of a switch.
base::Result<TracedRoute> trace_route(QueryPool& pool, const Discovery& found, PortId from, PortId to);

}  // namespace fabric::discovery
