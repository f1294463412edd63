#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

/// `rdmascope run`: runs another program, traced, or over the software iWARP stack.
namespace cli::run {

int run(const std::vector<std::string>& arguments, const Environment& environment);
std::string help();
std::vector<options::CommandOptions> option_lists();

}  // namespace cli::run
