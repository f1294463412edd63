#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "fabric/findings/subnet_finding.h"
#include "fabric/node_names.h"
#include "fabric/subnet.h"
#include "fabric/traced_route.h"

namespace fabric::output {

/// A subnet and what is wrong with it, as docs/fabric.md describes it.
std::string subnet_json(const Subnet& subnet, const std::vector<findings::Finding>& problems, const NodeLabels& labels);
/// What changed from one file to another; both have names for the findings' ends.
std::string changes_json(const std::vector<findings::Finding>& changes, const Subnet& before, const Subnet& after,
                         const NodeLabels& labels);

/// The hops of a route, and why packets do not arrive, if so.
std::string route_json(const TracedRoute& route, const Subnet& subnet, const NodeLabels& labels);

/// Reads what subnet_json() wrote; findings are left out, because they are made again. Fails with the member that is
/// missing or invalid.
base::Result<Subnet> parse_subnet(std::string_view text, const std::string& path);

}  // namespace fabric::output
