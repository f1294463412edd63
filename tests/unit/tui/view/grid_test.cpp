// The grid: what cannot be drawn is cut, wide glyphs are never halved, no text moves a cursor.
#include "tui/view/grid.h"

#include <gtest/gtest.h>

#include "tui/view/letters.h"

namespace tui {
namespace {

TEST(Grid, cuts_what_lies_outside) {
    Grid grid(4, 2);
    grid.text(-2, 0, "abcd");
    grid.text(2, 1, "wxyz");
    grid.text(0, 2, "below");
    grid.put(4, 0, U'!');
    EXPECT_EQ(grid.plain(), "cd\n  wx\n");
}

TEST(Grid, ends_a_text_that_does_not_fit_with_an_ellipsis) {
    Grid grid(10, 2);
    EXPECT_EQ(grid.text(0, 0, "storage-3", {}, 5), 5);
    EXPECT_EQ(grid.right(0, 1, "12", {}, 6), 2);
    EXPECT_EQ(grid.plain(), "stor…\n    12\n");
    grid.set_ellipsis(U'~');
    grid.text(0, 0, "storage-3", {}, 5);
    EXPECT_EQ(grid.plain().substr(0, 5), "stor~");
    EXPECT_EQ(grid.text(0, 0, "x", {}, 0), 0);
}

TEST(Grid, never_halves_a_wide_glyph) {
    Grid grid(5, 1);
    EXPECT_EQ(grid.text(0, 0, "日本語"), 6);
    EXPECT_EQ(grid.plain(), "日本\n");
    grid.put(1, 0, U'x');
    EXPECT_EQ(grid.plain(), " x本\n");
    grid.put(2, 0, U'y');
    EXPECT_EQ(grid.plain(), " xy\n");
    EXPECT_EQ(width_of("日e\u0301"), 3);
}

TEST(Grid, no_text_moves_the_cursor) {
    Grid grid(8, 1);
    grid.text(0, 0, "a\x1b[2J\x80\n");
    EXPECT_EQ(grid.plain(), "a�[2J��\n");
}

TEST(Grid, resize_and_select) {
    Grid grid(3, 1);
    grid.text(0, 0, "abc", {Role::bad});
    grid.select(1, 0, 9);
    EXPECT_EQ(grid.styles(), "xXX\n");
    grid.resize(2, 2);
    EXPECT_EQ(grid.plain(), "\n\n");
    grid.resize(-1, 7);
    grid.text(0, 0, "x");
    EXPECT_EQ(grid.width(), 0);
}

TEST(Letters, of_states_differ) {
    std::string seen;
    for (std::size_t i = 0; i < metrics::state_count; ++i) {
        const char letter = state_letter(static_cast<metrics::State>(i));
        EXPECT_EQ(seen.find(letter), std::string::npos) << metrics::state_names[i];
        seen += letter;
    }
}

}  // namespace
}  // namespace tui
