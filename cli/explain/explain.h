#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

/// `rdmascope explain`: lines of logs and codes of errors, and the packets of them.
namespace cli::explain {

int run(const std::vector<std::string>& arguments, const Environment& environment);
std::string help();
std::vector<options::CommandOptions> option_lists();

}  // namespace cli::explain
