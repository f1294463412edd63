#pragma once
#include <string>
#include <utility>
#include <vector>

namespace cli::launch {

struct Options {
    bool software = false;
    /// What the library is told by its environment: name and value, in the order of the command line.
    std::vector<std::pair<std::string, std::string>> variables = {};
    std::vector<std::string> command = {};  ///< the program and its arguments
    bool help = false;
    bool version = false;
};

/// Reads the command line into `out`; returns the reason where it cannot be obeyed, else an empty string.
std::string parse(const std::vector<std::string>& arguments, Options& out);
std::string help_text();

}  // namespace cli::launch
