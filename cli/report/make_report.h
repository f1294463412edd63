#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

namespace cli::report {

/// `rdmascope report`: one HTML page that shows what a capture holds.
int run(const std::vector<std::string>& arguments, const Environment& environment);
std::string help();
std::vector<options::CommandOptions> option_lists();

}  // namespace cli::report
