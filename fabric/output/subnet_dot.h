#pragma once
#include <string>

#include "fabric/node_names.h"
#include "fabric/subnet.h"

namespace fabric::output {

/// The subnet as a graph for dot(1) of Graphviz. Links below their best, or not active, are red.
std::string subnet_dot(const Subnet& subnet, const NodeLabels& labels);

}  // namespace fabric::output
