#pragma once
#include <string_view>

#include "tui/view/pane.h"

namespace tui {

/// A frame with a title in the middle of `area`, at most as large as it; what lay under it is cleared. Returns what is
/// inside: empty where there is no room for a frame.
Area draw_box(Canvas& canvas, Area area, int width, int height, std::string_view title);

}  // namespace tui
