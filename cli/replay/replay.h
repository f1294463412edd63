#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

/// `rdmascope replay`: plays a capture again.
namespace cli::replay {

int run(const std::vector<std::string>& arguments, const Environment& environment);
std::string help();
std::vector<options::CommandOptions> option_lists();

}  // namespace cli::replay
