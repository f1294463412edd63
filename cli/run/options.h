#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/options/command_options.h"
#include "cli/options/shared.h"
#include "cli/run/run_traced.h"

namespace cli::run {

struct Options : options::HelpOptions {
    bool software = false;
    /// The settings of the library in its environment: name and value, in the order of the command line.
    std::vector<std::pair<std::string, std::string>> variables = {};
    std::vector<std::string> command = {};  ///< the program and its arguments
    bool traced = false;                    ///< its work on queue pairs is recorded; always true without `software`
    Tracing tracing = {};
    std::optional<int> process = std::nullopt;  ///< a running process to trace, instead of a program
};

std::optional<options::UsageError> parse(const std::vector<std::string>& arguments, Options& out);
options::OptionTable<Options> option_table();
std::string help_text();

}  // namespace cli::run
