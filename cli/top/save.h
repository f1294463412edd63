#pragma once
#include <ctime>
#include <string>

#include "tui/model/model.h"
#include "tui/view/grid.h"

namespace cli::top {

/// What to say of it on the screen.
struct Saved {
    std::string message;
    bool failed = false;
};

/// Writes rdmascope-top-YYYYMMDD-HHMMSS.json, which is what `flows --json` prints of the window shown, and with it the
/// picture as .txt, into `directory`. Existing files are never overwritten: `-2` and so on is added.
Saved save(const tui::ModelState& state, const tui::Grid& picture, std::time_t now, const std::string& directory = ".");

}  // namespace cli::top
