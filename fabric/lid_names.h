#pragma once
#include <string>
#include <vector>

#include "fabric/subnet.h"

namespace fabric {

/// Which node a LID belongs to.
struct LidName {
    Lid lid = 0;                   ///< the first one of the port
    std::uint8_t lmc = 0;          ///< the port has 2^lmc LIDs
    Guid guid = 0;                 ///< of the port, or of the node if the port's is not known
    std::string description = {};  ///< NodeDescription: bytes of the node, not to be printed as they are
};

/// One row for each port with a LID, in ascending order of LIDs.
std::vector<LidName> lid_names(const Subnet& subnet);

}  // namespace fabric
