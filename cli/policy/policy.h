#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

namespace cli::policy {

/// `rdmascope policy check`: whether the traffic of a capture keeps to a file of rules.
int run(const std::vector<std::string>& arguments, const Environment& environment);
std::string help();
std::vector<options::CommandOptions> option_lists();

}  // namespace cli::policy
