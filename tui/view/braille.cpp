#include "tui/view/braille.h"

namespace tui::inline view {

Braille::Braille(int width, int height)
    : width_(std::max(width, 0)),
      height_(std::max(height, 0)),
      cells_(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_)) {}

void Braille::dot(int x, int y, std::uint8_t ink) {
    if (x < 0 || y < 0 || x >= dot_width() || y >= dot_height()) return;
    // Six dots were there first: the lowest row came later and has the highest bits. Unicode, block U+2800.
    constexpr std::array<std::array<std::uint8_t, dots_across>, dots_down> bits{
        {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};
    Cell& cell = cells_[static_cast<std::size_t>(y / dots_down) * static_cast<std::size_t>(width_) +
                        static_cast<std::size_t>(x / dots_across)];
    cell.dots |= bits[static_cast<std::size_t>(y % dots_down)][static_cast<std::size_t>(x % dots_across)];
    cell.ink = std::max(cell.ink, ink);
}

void Braille::draw(Pane& pane, int x, int y, const std::vector<Ink>& palette) const {
    for (int row = 0; row < height_; ++row)
        for (int column = 0; column < width_; ++column) {
            const Cell& cell = cells_[static_cast<std::size_t>(row) * static_cast<std::size_t>(width_) +
                                      static_cast<std::size_t>(column)];
            if (cell.dots == 0 || cell.ink >= palette.size()) continue;
            const Ink& ink = palette[cell.ink];
            char32_t glyph = pane.letters.braille ? U'\u2800' + cell.dots : ink.ascii;
            if (ink.letter != 0) glyph = ink.letter;
            pane.put(x + column, y + row, glyph, {ink.role, false, ink.letter != 0});
        }
}

}  // namespace tui::view
