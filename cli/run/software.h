#pragma once
#include "cli/run/options.h"

namespace cli::run {

/// Puts the library of the software stack before the program's own, in the environment of this process and of those
/// that it becomes or starts. False: it cannot be, having said why.
bool put_software_first(const Options& options);

}  // namespace cli::run
