// Paths between hosts: a row for each two hosts with several entropies, and below it one for each entropy.
#include <array>
#include <fmt/core.h>

#include "exporters/path_columns.h"
#include "tui/view/figures.h"
#include "tui/view/screen.h"
#include "tui/view/table.h"

namespace tui::inline view {

namespace {

using metrics::PathProblem;

/// How a column of exporters::path_columns() is placed: in their order.
struct Placing {
    int least;
    int most;
    unsigned weight;  ///< the greatest is dropped first
};
constexpr std::array placings{Placing{13, 30, 0}, Placing{5, 0, 7}, Placing{7, 0, 1}, Placing{8, 0, 5},
                              Placing{6, 0, 0},   Placing{6, 0, 0}, Placing{5, 0, 4}, Placing{6, 0, 2},
                              Placing{7, 0, 6},   Placing{7, 0, 0}, Placing{6, 0, 3}, Placing{14, 0, 0}};

std::vector<TableColumn> columns_of_paths() {
    std::vector<TableColumn> columns;
    for (std::size_t i = 0; i < exporters::path_columns().size(); ++i) {
        const exporters::PathColumn& each = exporters::path_columns()[i];
        const Placing& placing = placings[i];
        columns.push_back({std::string(each.title), each.left_aligned, placing.least, 0, placing.most, placing.weight});
    }
    return columns;
}

Role problem_role(PathProblem problem) {
    switch (problem) {
        case PathProblem::none: return Role::normal;
        case PathProblem::recovered: return Role::warning;
        case PathProblem::sick:
        case PathProblem::slow:
        case PathProblem::marked: break;
    }
    return Role::bad;
}

TableRow pair_row(const ModelState& state, const metrics::PathPair& pair) {
    TableRow row;
    row.spans = exporters::path_columns().size();
    row.cells.resize(row.spans);
    row.cells.front() = {exporters::path_heading(pair, state.names), {Role::title}};
    return row;
}

TableRow entropy_row(const PathLine& line, std::uint64_t pair_bytes, const Letters& letters) {
    const Role role = problem_role(line.row->problem);
    TableRow row;
    for (const exporters::PathColumn& each : exporters::path_columns()) {
        std::string text = each.text(*line.row, pair_bytes, in_column(letters));
        const bool is_nothing = text == "0" || text == "-";
        row.cells.push_back({std::move(text), {is_nothing ? Role::dim : Role::normal}});
    }
    row.cells.front().text.insert(0, "  ");
    row.cells.back().style = {role};
    if (role == Role::bad) row.mark.paint = [](Pane& pane, int x, int y, int) { pane.put(x, y, U'!', {Role::bad}); };
    return row;
}

void draw_no_paths(Pane& pane, const ModelState& state) {
    if (!state.reading) return draw_no_reading(pane, state);
    const std::size_t single = state.paths.single();
    const std::vector<std::string> lines{"no two hosts with several entropies",
                                         single == 0 ? "entropies are UDP source ports, flow labels, TCP ports and LIDs"
                                                     : fmt::format("{} of hosts with one: all packets take one path",
                                                                   base::format_counted(single, "pair"))};
    draw_notice(pane, lines);
}

}  // namespace

void draw_paths(Canvas& canvas, Area area) {
    static const std::vector<TableColumn> columns = columns_of_paths();
    const ModelState& state = canvas.state;
    Pane pane(canvas, area);
    const int height = pane.height() - 1;
    canvas.drawn.page = static_cast<std::size_t>(std::max(height, 1));
    const std::vector<PathLine>& lines = state.paths.lines();
    if (!state.reading || lines.empty()) return draw_no_paths(pane, state);
    const PageOfRows page = page_of(state.place(), lines.size(), height);
    std::vector<TableRow> rows;
    rows.reserve(page.last - page.first);
    for (std::size_t i = page.first; i < page.last; ++i) {
        TableRow row = lines[i].row == nullptr ? pair_row(state, *lines[i].pair)
                                               : entropy_row(lines[i], lines[i].pair->wire_bytes(), canvas.letters);
        row.index = i;
        row.selected = i == state.place().selected;
        rows.push_back(std::move(row));
    }
    draw_table(pane, 0, columns, rows);
}

}  // namespace tui::view
