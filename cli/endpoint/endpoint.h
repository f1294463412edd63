#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

/// `rdmascope endpoint`: the software iWARP endpoint as a program, `serve`, `ping`, `bench` and `listen`.
namespace cli::endpoint {

int run(const std::vector<std::string>& arguments, const Environment& environment);
std::string help();
std::vector<options::CommandOptions> option_lists();

}  // namespace cli::endpoint
