#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "tui/view/pane.h"

namespace tui::inline view {

/// What dots are drawn with. Where several meet in a cell, the one that comes last in the palette is seen.
struct Ink {
    Role role = Role::chart;
    char32_t letter = 0;  ///< stands in place of dots; 0: dots, where the font has them
    char32_t ascii = 0;   ///< stands in place of dots where it has not
};

/// A plot of dots, two columns and four rows of them in each cell.
class Braille {
public:
    static constexpr int dots_across = 2;
    static constexpr int dots_down = 4;

    Braille(int width, int height);

    int dot_width() const { return width_ * dots_across; }
    int dot_height() const { return height_ * dots_down; }
    /// A dot, from the top left; what lies outside is cut. `ink` is an index in the palette.
    void dot(int x, int y, std::uint8_t ink);
    void draw(Pane& pane, int x, int y, const std::vector<Ink>& palette) const;

private:
    struct Cell {
        std::uint8_t dots = 0;  ///< as U+2800 numbers them
        std::uint8_t ink = 0;
    };
    int width_;
    int height_;
    std::vector<Cell> cells_;
};

}  // namespace tui::view
