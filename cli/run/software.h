#pragma once
#include "cli/run/options.h"

namespace cli::run {

/// Puts the library of the software stack before the program's own, in the environment of this process and of those
/// that it becomes or starts. False if that is impossible; the reason was reported.
bool put_software_first(const Options& options);

}  // namespace cli::run
