#pragma once
#include <string>

namespace base {

/// The path of the running program, for commands in messages; `rdmascope` if the system does not report it.
std::string own_path();

}  // namespace base
