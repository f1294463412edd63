#pragma once
#include <string>

#include "cli/run/options.h"

namespace cli::launch {

/// Replaces this process by the program, with the library of the software stack before its own. Returns the exit
/// status only where that cannot be done, having said why.
int run_on_software(const Options& options);

}  // namespace cli::launch
