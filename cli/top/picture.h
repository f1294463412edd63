#pragma once
#include <string>

#include "cli/top/screen_loop.h"

namespace cli::top {

/// Prints one picture as text when the source has something to show; of a file or a history, when all of it was read.
/// Returns what went wrong, also after the picture; empty on success.
std::string print_picture(const Show& show);

}  // namespace cli::top
