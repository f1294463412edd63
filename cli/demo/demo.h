#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

/// `rdmascope demo`: real iWARP traffic on the loopback interface, captured, measured and explained.
namespace cli::demo {

int run(const std::vector<std::string>& arguments, const Environment& environment);
std::string help();
std::vector<options::CommandOptions> option_lists();

}  // namespace cli::demo
