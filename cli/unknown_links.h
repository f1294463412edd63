#pragma once
#include <string>
#include <vector>

#include "capture/source.h"

namespace cli {

/// "147 (USER0)" for each link type of these interfaces that rdmascope cannot read, with commas between; empty if all
/// can be read. Frames of such a type do not show that there is no RDMA.
std::string unknown_links(const std::vector<capture::InterfaceInfo>& interfaces);

}  // namespace cli
