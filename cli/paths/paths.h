#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

namespace cli::paths {

/// `rdmascope paths`: which entropies carry what between two hosts.
int run(const std::vector<std::string>& arguments, const Environment& environment);
std::string help();
std::vector<options::CommandOptions> option_lists();

}  // namespace cli::paths
