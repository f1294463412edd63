#pragma once
#include <string>

#include "fabric/findings/subnet_finding.h"
#include "fabric/node_names.h"
#include "fabric/subnet.h"
#include "fabric/traced_route.h"

/// What `fabric` prints for people.
namespace cli::fabric {

/// Managers, nodes and links.
std::string subnet_page(const ::fabric::Subnet& subnet, const ::fabric::NodeLabels& labels);
/// One line for each counter that is not 0.
std::string counters_page(const ::fabric::Subnet& subnet, const ::fabric::NodeLabels& labels);
std::string route_page(const ::fabric::Subnet& subnet, const ::fabric::TracedRoute& route,
                       const ::fabric::NodeLabels& labels);

/// "spine 4 port 17 (lid 12)"; of a port that the subnet lacks, its GUID.
std::string end_text(const ::fabric::Subnet& subnet, ::fabric::PortId id, const ::fabric::NodeLabels& labels);

}  // namespace cli::fabric
