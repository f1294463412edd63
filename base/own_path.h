#pragma once
#include <string>

namespace base {

/// The path of the program that runs, for commands in messages; `rdmascope` if the system does not tell.
std::string own_path();

}  // namespace base
