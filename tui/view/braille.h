#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "tui/view/pane.h"

namespace tui::inline view {

/// How dots are drawn. If several meet in a cell, the last one in the palette is shown.
struct Ink {
    Role role = Role::chart;
    char32_t letter = 0;  ///< instead of dots; 0: dots, if the font has them
    char32_t ascii = 0;   ///< instead of dots if the font has none
};

/// A plot of dots, two columns and four rows of them in each cell.
class Braille {
public:
    static constexpr int dots_across = 2;
    static constexpr int dots_down = 4;

    Braille(int width, int height);

    int dot_width() const { return width_ * dots_across; }
    int dot_height() const { return height_ * dots_down; }
    /// A dot, from the top left; dots outside are cut. `ink` is an index in the palette.
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
