#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

namespace cli::fabric {

/// `rdmascope fabric`: the InfiniBand subnet that this machine belongs to, and what is wrong with it.
int run(const std::vector<std::string>& arguments, const Environment& environment);
std::string help();
std::vector<options::CommandOptions> option_lists();

}  // namespace cli::fabric
