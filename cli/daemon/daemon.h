#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

namespace cli::daemon {

/// `rdmascope daemon`: captures until it is stopped.
int run(const std::vector<std::string>& arguments, const Environment& environment);
std::string help();
std::vector<options::CommandOptions> option_lists();

}  // namespace cli::daemon
