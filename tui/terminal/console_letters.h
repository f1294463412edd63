#pragma once
#include "tui/view/letters.h"

namespace tui::inline terminal {

/// The letters of the Linux console, whose fonts have the characters of code page 437: half a block and shades, no
/// eighths.
Letters console_letters();

}  // namespace tui::terminal
