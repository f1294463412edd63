#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

/// `rdmascope completion`: the scripts with which shells complete command lines.
namespace cli::completion {

int run(const std::vector<std::string>& arguments, const Environment& environment);
std::string help();
std::vector<options::CommandOptions> option_lists();

}  // namespace cli::completion
