#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

namespace cli::fleet {

/// `rdmascope fleet`: the schema of the tables in ClickHouse, and questions about all hosts that send rows there.
int run(const std::vector<std::string>& arguments, const Environment& environment);
std::string help();
std::vector<options::CommandOptions> option_lists();

}  // namespace cli::fleet
