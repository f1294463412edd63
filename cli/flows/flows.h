#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

namespace cli::flows {

/// `rdmascope flows`: one row a flow with all its figures.
int run(const std::vector<std::string>& arguments, const Environment& environment);
std::string help();
std::vector<options::CommandOptions> option_lists();

}  // namespace cli::flows
