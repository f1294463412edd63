#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "metrics/figures/state.h"

/// The picture: a grid of styled cells, without a terminal.
namespace tui::inline view {

/// The meaning of a cell, not its look: a theme (theme.h) gives roles their colours.
enum class Role : std::uint8_t {
    normal,
    dim,     ///< of less weight: units, what is idle
    title,   ///< headings
    accent,  ///< what keys do, the name of the program
    good,
    warning,
    bad,     ///< something is wrong
    alarm,   ///< must be seen at once: the drops badge
    bar,     ///< the lines with the heading and the keys, in their full width
    sorted,  ///< the heading of the column that orders the table
    chart,
    chart_second,
    heat_0,  ///< seven steps of a scale: little ...
    heat_1,
    heat_2,
    heat_3,
    heat_4,
    heat_5,
    heat_6,   ///< ... much
    state_0,  ///< metrics::State by its index
    state_last = state_0 + metrics::state_count - 1,
};
inline constexpr std::size_t role_count = static_cast<std::size_t>(Role::state_last) + 1;
constexpr Role role_of(metrics::State state) {
    return static_cast<Role>(static_cast<std::size_t>(Role::state_0) + metrics::index_of(state));
}
constexpr Role heat(unsigned step) {
    return static_cast<Role>(static_cast<unsigned>(Role::heat_0) + (step < 7 ? step : 6));
}

struct Style {
    Role role = Role::normal;
    bool selected = false;  ///< the selected row: reversed if there are no colours
    bool bold = false;
    bool underlined = false;
    bool operator==(const Style&) const = default;
};

struct Cell {
    char32_t glyph = U' ';  ///< 0: covered by the wide glyph to the left
    Style style = {};
    bool operator==(const Cell&) const = default;
};

/// Columns that a character takes on a terminal: 0 (combining, control), 1 or 2.
int width_of(char32_t character);
/// Columns of a UTF-8 text; a byte that is not UTF-8 counts as one column.
int width_of(std::string_view text);
/// Takes the next character off a UTF-8 text; U+FFFD for bytes that are not UTF-8. Control characters become U+FFFD
/// too, so that no text can move a cursor.
char32_t take_character(std::string_view& text);
using base::append_utf8;

/// Rows and columns from 0. Everything outside is silently cut: the code that draws need not know the screen's size.
class Grid {
public:
    Grid() = default;
    Grid(int width, int height) { resize(width, height); }

    void resize(int width, int height);  ///< clears it
    void clear();
    int width() const { return width_; }
    int height() const { return height_; }
    const Cell& at(int x, int y) const {
        return cells_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x)];
    }

    void put(int x, int y, char32_t glyph, Style style = {});
    /// UTF-8, at most `room` columns. If the text does not fit, the last column is an ellipsis (`…`, `~` in ASCII).
    /// Returns the columns taken.
    int text(int x, int y, std::string_view text, Style style = {}, int room = 1 << 20);
    /// The same, ending at column `x + room`.
    int right(int x, int y, std::string_view text, Style style, int room);
    void fill(int x, int y, int width, int height, char32_t glyph, Style style);
    /// Sets the `selected` of a stretch's style; glyphs and roles stay.
    void select(int x, int y, int width);

    /// The glyph that ends a text which was cut.
    void set_ellipsis(char32_t glyph) { ellipsis_ = glyph; }

    /// Rows as UTF-8 without trailing blanks, each with a newline: for tests and for saving.
    std::string plain() const;
    /// The same shape with a letter for each cell's style in place of its glyph (tests): see grid.cpp.
    std::string styles() const;

private:
    int width_ = 0;
    int height_ = 0;
    char32_t ellipsis_ = U'…';
    std::vector<Cell> cells_ = {};
};

}  // namespace tui::view
