#pragma once
#include "tui/view/letters.h"

namespace tui::inline terminal {

/// Those of the Linux console, whose fonts have what code page 437 had: half a block and shades, no eighths.
Letters console_letters();

}  // namespace tui::terminal
