#pragma once
#include <span>

#include "cli/command.h"

namespace cli {

/// Every command of rdmascope, in the order of its overview.
std::span<const Command> commands();

}  // namespace cli
