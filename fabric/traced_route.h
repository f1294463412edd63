#pragma once
#include <string>
#include <vector>

#include "fabric/subnet.h"

namespace fabric {

/// The way of packets from one node to another, as the switches' forwarding tables have it.
struct TracedRoute {
    PortId from = {};
    PortId to = {};
    Lid lid = 0;                         ///< the destination's, which the switches look up
    std::vector<PortId> leaves_by = {};  ///< one port a hop, the sender's first
    std::string broken = {};             ///< why packets do not arrive; empty if they do
};

}  // namespace fabric
