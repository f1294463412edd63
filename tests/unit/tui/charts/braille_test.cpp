// Dots: Unicode's block of Braille patterns, U+2800 with a bit for each dot, by hand.
#include "tui/view/braille.h"

#include <gtest/gtest.h>

namespace tui {
namespace {

const std::vector<Ink> inks{{Role::chart, 0, U'.'}, {Role::bad, U'N', U'N'}};

std::string text_of(const Braille& dots, int width, int height, const Letters& letters = utf8_letters) {
    Grid grid(width, height);
    Drawn drawn;
    ModelState state;
    Canvas canvas{state, letters, grid, drawn};
    Pane pane(canvas, {0, 0, width, height});
    dots.draw(pane, 0, 0, inks);
    return grid.plain();
}

TEST(Braille, each_dot_has_its_bit) {
    // Dots 1 2 3 7 stand in the left column from above, 4 5 6 8 in the right.
    constexpr std::array<const char*, 8> glyphs{"⠁", "⠂", "⠄", "⡀", "⠈", "⠐", "⠠", "⢀"};
    for (int x = 0; x < 2; ++x)
        for (int y = 0; y < 4; ++y) {
            Braille dots(1, 1);
            dots.dot(x, y, 0);
            EXPECT_EQ(text_of(dots, 1, 1), std::string(glyphs[static_cast<std::size_t>(x * 4 + y)]) + "\n");
        }
}

TEST(Braille, dots_of_a_cell_come_together) {
    Braille dots(2, 1);
    // A line from bottom left to top right: four dots.
    for (int i = 0; i < 4; ++i) dots.dot(i, 3 - i, 0);
    EXPECT_EQ(text_of(dots, 2, 1), "⡠⠊\n");
    EXPECT_EQ(text_of(dots, 2, 1, ascii_letters), "..\n");
}

TEST(Braille, the_later_ink_is_seen) {
    Braille dots(2, 1);
    dots.dot(0, 0, 1);
    dots.dot(1, 1, 0);
    dots.dot(2, 2, 0);
    EXPECT_EQ(text_of(dots, 2, 1), "N⠄\n");
}

TEST(Braille, what_lies_outside_is_cut) {
    Braille dots(1, 1);
    for (const int x : {-1, 2, 1'000'000})
        for (const int y : {-1, 4, -1'000'000}) dots.dot(x, y, 0);
    dots.dot(0, 4, 0);
    dots.dot(2, 0, 0);
    EXPECT_EQ(text_of(dots, 1, 1), "\n");
    Braille none(-3, 0);
    none.dot(0, 0, 0);
    EXPECT_EQ(none.dot_width(), 0);
}

}  // namespace
}  // namespace tui
