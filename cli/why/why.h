#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

/// `rdmascope why`: answers the five questions about RDMA, a sixth about commands, and a seventh about a policy.
namespace cli::why {

int run(const std::vector<std::string>& arguments, const Environment& environment);
std::string help();
std::vector<options::CommandOptions> option_lists();

}  // namespace cli::why
