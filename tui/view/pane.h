#pragma once
#include <algorithm>
#include <string_view>

#include "tui/view/screen.h"

namespace tui::inline view {

/// A part of the grid with columns and rows of its own, from 0; what lies outside is cut, so that no view draws into
/// another.
class Pane {
public:
    Pane(Canvas& canvas, Area area)
        : letters(canvas.letters), grid_(canvas.grid), drawn_(canvas.drawn), area_(clipped(area, canvas.grid)) {}

    const Letters& letters;

    int width() const { return area_.width; }
    int height() const { return area_.height; }

    void put(int x, int y, char32_t glyph, Style style = {}) {
        if (holds(x, y) && x + width_of(glyph) <= width()) grid_.put(area_.x + x, area_.y + y, glyph, style);
    }
    /// As Grid::text: returns the columns taken.
    int text(int x, int y, std::string_view text, Style style = {}, int room = 1 << 20) {
        room = std::min(room, width() - x);
        return holds(x, y) && room > 0 ? grid_.text(area_.x + x, area_.y + y, text, style, room) : 0;
    }
    int right(int x, int y, std::string_view text, Style style, int room) {
        room = std::min(room, width() - x);
        return holds(x, y) && room > 0 ? grid_.right(area_.x + x, area_.y + y, text, style, room) : 0;
    }
    void fill(int x, int y, int columns, char32_t glyph, Style style) {
        if (holds(x, y)) grid_.fill(area_.x + x, area_.y + y, std::min(columns, width() - x), 1, glyph, style);
    }
    void select(int x, int y, int columns) {
        if (holds(x, y)) grid_.select(area_.x + x, area_.y + y, std::min(columns, width() - x));
    }
    void hit(Hit::Target target, int x, int y, int columns, std::size_t value) {
        columns = std::min(columns, width() - x);
        if (holds(x, y) && columns > 0) drawn_.hits.push_back({target, area_.x + x, area_.y + y, columns, 1, value});
    }

private:
    bool holds(int x, int y) const { return x >= 0 && y >= 0 && x < width() && y < height(); }
    static Area clipped(Area area, const Grid& grid) {
        const int right = std::min(area.x + area.width, grid.width());
        const int bottom = std::min(area.y + area.height, grid.height());
        const int x = std::max(area.x, 0);
        const int y = std::max(area.y, 0);
        return {x, y, std::max(right - x, 0), std::max(bottom - y, 0)};
    }

    Grid& grid_;
    Drawn& drawn_;
    Area area_;
};

}  // namespace tui::view
