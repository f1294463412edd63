#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

namespace cli::report {

/// `rdmascope report`: writes one HTML page with the findings, flows, times and packets of a capture.
int run(const std::vector<std::string>& arguments, const Environment& environment);
std::string help();
std::vector<options::CommandOptions> option_lists();

}  // namespace cli::report
