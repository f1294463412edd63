#include "tui/view/box.h"

#include <algorithm>
#include <fmt/core.h>

namespace tui::inline view {

Area draw_box(Canvas& canvas, Area area, int width, int height, std::string_view title) {
    width = std::min(width, area.width);
    height = std::min(height, area.height);
    const Area outer{area.x + (area.width - width) / 2, area.y + (area.height - height) / 2, width, height};
    Pane pane(canvas, outer);
    for (int y = 0; y < pane.height(); ++y) pane.fill(0, y, pane.width(), U' ', {});
    if (width < 4 || height < 3) return {outer.x, outer.y, 0, 0};
    const Style style{Role::title};
    const Letters& letters = canvas.letters;
    for (const int y : {0, height - 1}) pane.fill(1, y, width - 2, letters.horizontal, style);
    for (int y = 1; y < height - 1; ++y) {
        pane.put(0, y, letters.vertical, style);
        pane.put(width - 1, y, letters.vertical, style);
    }
    pane.put(0, 0, letters.corner_top_left, style);
    pane.put(width - 1, 0, letters.corner_top_right, style);
    pane.put(0, height - 1, letters.corner_bottom_left, style);
    pane.put(width - 1, height - 1, letters.corner_bottom_right, style);
    if (!title.empty() && width > 8) {
        pane.put(2, 0, U' ');
        const int taken = pane.text(3, 0, title, {Role::title, false, true}, width - 6);
        pane.put(3 + taken, 0, U' ');
    }
    return {outer.x + 1, outer.y + 1, width - 2, height - 2};
}

void draw_scroll(Canvas& canvas, Area inside, std::size_t top, std::size_t rows) {
    const auto page = static_cast<std::size_t>(std::max(inside.height, 0));
    if (rows <= page || inside.width < 12) return;
    Pane pane(canvas, {inside.x, inside.y, inside.width, inside.height + 1});
    const std::string text = fmt::format(" {} to {} of {} ", top + 1, std::min(top + page, rows), rows);
    pane.text(inside.width - 2 - width_of(text), inside.height, text, {Role::title});
}

}  // namespace tui::view
