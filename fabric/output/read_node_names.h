#pragma once
#include <string>

#include "base/error.h"
#include "base/result.h"
#include "fabric/node_names.h"

namespace fabric::output {

/// Reads names of nodes from a file of either kind: the lines of NodeNames, or what subnet_json() wrote. Descriptions
/// in the latter name the nodes' GUIDs and LIDs.
base::Result<NodeNames, base::Errors> read_node_names(const std::string& path);

}  // namespace fabric::output
