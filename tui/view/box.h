#pragma once
#include <string_view>

#include "tui/view/pane.h"

namespace tui::inline view {

/// A frame with a title in the middle of `area`, at most as large as the area; what lay under it is cleared. Returns
/// the inside: empty if there is no room for a frame. Afterwards, `draw_scroll` shows in the lower edge which rows are
/// visible, if not all are.
Area draw_box(Canvas& canvas, Area area, int width, int height, std::string_view title);
void draw_scroll(Canvas& canvas, Area inside, std::size_t top, std::size_t rows);

}  // namespace tui::view
