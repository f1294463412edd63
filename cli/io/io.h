#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

namespace cli::io {

/// `rdmascope io`: the commands of upper layers: their number, their duration, and where their time went.
int run(const std::vector<std::string>& arguments, const Environment& environment);
std::string help();
std::vector<options::CommandOptions> option_lists();

}  // namespace cli::io
