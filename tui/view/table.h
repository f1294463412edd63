#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tui/model/model.h"
#include "tui/view/pane.h"

namespace tui::inline view {

/// A column of a list on the screen.
struct TableColumn {
    std::string title;
    bool left_aligned = false;
    int least = 0;     ///< the usual width of its cells, so that the column stays in place from one picture to the next
    int squeezed = 0;  ///< may become as narrow as this before other columns are dropped; 0: fixed
    int most = 0;      ///< may become as wide as this where there is room
    unsigned weight = 0;  ///< 0 stays; the greatest is dropped first
    bool sorted = false;
    bool descending = false;
    std::optional<std::size_t> hit = {};  ///< the hit for a click on the heading
};

struct TableCell {
    std::string text = {};
    Style style = {};
    /// Draws it in place of the text, into `width` columns.
    std::function<void(Pane& pane, int x, int y, int width)> paint = {};
    bool keeps_style = false;  ///< a selected row does not change its style
};

struct TableRow {
    std::size_t index = 0;
    std::vector<TableCell> cells = {};
    TableCell mark = {};  ///< in the two columns at the left
    bool selected = false;
    std::size_t spans = 1;  ///< columns that the first cell lies over
};

/// The width of each column, 0 for those that are dropped; `gap` blanks between two.
std::vector<int> fit(std::span<const TableColumn> columns, std::span<const TableRow> rows, int room);

/// Heading and rows from the pane's line `y` on. Returns the widths.
std::vector<int> draw_table(Pane& pane, int y, std::span<const TableColumn> columns, std::span<const TableRow> rows);

/// The visible rows of a list: the selected one is among them, whatever page size the model assumed.
struct PageOfRows {
    std::size_t first = 0;
    std::size_t last = 0;  ///< one after the last row
};
PageOfRows page_of(const Place& place, std::size_t count, int rows);

/// Lines in the middle of a pane without a list: the first says what the state is, the others what to do.
void draw_notice(Pane& pane, std::span<const std::string> lines, Role role = Role::normal);
/// The notice if there is no reading: the source is starting, was lost, or has failed.
void draw_no_reading(Pane& pane, const ModelState& state);

}  // namespace tui::view
