#pragma once
#include <ctime>
#include <string>

#include "tui/model/model.h"
#include "tui/view/grid.h"

namespace cli::top {

/// The result, and the message for the screen.
struct Saved {
    std::string message;
    bool failed = false;
};

/// Writes two files into `directory`: rdmascope-top-YYYYMMDD-HHMMSS.json with the figures shown, as `flows --json`
/// prints them, and the picture as .txt. Existing files are never overwritten: the names get `-2` and so on.
Saved save(const tui::ModelState& state, const tui::Grid& picture, std::time_t now, const std::string& directory = ".");

}  // namespace cli::top
