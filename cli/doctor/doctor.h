#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

/// `rdmascope doctor`: what is wrong with this machine's RDMA stack.
namespace cli::doctor {

int run(const std::vector<std::string>& arguments, const Environment& environment);
std::string help();
std::vector<options::CommandOptions> option_lists();

}  // namespace cli::doctor
