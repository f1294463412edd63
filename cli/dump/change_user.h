#pragma once
#include <string>

namespace cli::dump {

/// Becomes `user`, its group and its other groups, permanently; does nothing if the program is not root. Returns why it
/// failed; empty on success.
std::string become(const std::string& user);

}  // namespace cli::dump
