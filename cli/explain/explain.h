#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

/// `rdmascope explain`: explains lines of logs and error codes, and finds their packets.
namespace cli::explain {

int run(const std::vector<std::string>& arguments, const Environment& environment);
std::string help();
std::vector<options::CommandOptions> option_lists();

}  // namespace cli::explain
