#pragma once
#include <string>

#include "cli/top/screen_loop.h"

namespace cli::top {

/// One picture as text, when the source has something to show; a file's and a history's when all of it was read.
/// Returns what went wrong, be it after the picture; empty where nothing did.
std::string print_picture(const Show& show);

}  // namespace cli::top
