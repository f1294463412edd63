#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

/// `rdmascope top`: the live screen.
namespace cli::top {

int run(const std::vector<std::string>& arguments, const Environment& environment);
std::string help();
std::vector<options::CommandOptions> option_lists();

}  // namespace cli::top
