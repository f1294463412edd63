#pragma once
#include <string>

namespace cli::dump {

/// Why the program of `-z` cannot be run, found out before there is a file for it; empty where it can, or none is
/// named.
std::string missing_command(const std::string& name);

}  // namespace cli::dump
