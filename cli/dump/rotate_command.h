#pragma once
#include <string>

namespace cli::dump {

/// Why the program of `-z` cannot be run, checked before there is a file for it; empty if it can be run, or if none is
/// named.
std::string missing_command(const std::string& name);

}  // namespace cli::dump
