// The table of flows: model/columns.h says what there is, flow_cells.h what a cell looks like.
#include <algorithm>
#include <deque>
#include <fmt/core.h>

#include "metrics/answers/unread_carriers.h"
#include "tui/view/figures.h"
#include "tui/view/flow_cells.h"
#include "tui/view/screen.h"
#include "tui/view/state_bar.h"

namespace tui::inline view {

namespace {

constexpr int legend_from = 8;  ///< rows; on fewer, the legend is not worth one
constexpr int widest_bar = 120;
constexpr int squeezed_text = 34;  ///< "192.0.2.17/0x101 → 192.0.2.201/0x102"
constexpr int beside_causes = 28;  ///< "….17/0x101 → ….201/0x102"
constexpr int roomy_from = 100;    ///< columns: whole addresses and words have room
constexpr unsigned leaves_first = 20;

/// On a narrow screen, a cause says more than the whole of an address.
int ends_width(const ModelState& state, int width) {
    return state.list.problems() > 0 && width < roomy_from ? beside_causes : squeezed_text;
}

std::vector<TableColumn> columns_of_table(const ModelState& state, int width) {
    // Without a problem the causes are hidden, and the second order is all there is.
    const exporters::FlowOrder& order = state.choice.order;
    const exporters::FlowField* const sorted_by =
        order.then != nullptr && state.list.problems() == 0 ? order.then : order.field;
    std::vector<TableColumn> columns;
    for (std::size_t i = 0; i < state.columns.size(); ++i) {
        const Column& column = state.columns[i];
        TableColumn made;
        made.title = column.title;
        made.left_aligned = column.left_aligned;
        made.least = static_cast<int>(column.least_width);
        made.hit = i;
        made.sorted = column.field == sorted_by;
        // An order that cannot be seen looks like none.
        made.weight = made.sorted && column.form != CellForm::cause ? 0 : column.weight;
        if (column.form == CellForm::cause) made.weight = state.list.problems() > 0 ? 0 : leaves_first;
        made.descending = state.choice.order.descending;
        if (column.form == CellForm::states) made.most = widest_bar;
        if (column.form == CellForm::ends)
            made.squeezed = width < least_width ? made.least : std::max(made.least, ends_width(state, width));
        columns.push_back(std::move(made));
    }
    return columns;
}

/// Pinned, and with a problem: the second also without colours.
TableCell mark_of(const FlowLine& line) {
    TableCell mark;
    mark.paint = [pinned = line.pinned, problem = line.problem](Pane& pane, int x, int y, int) {
        if (pinned) pane.put(x, y, pane.letters.pin, {Role::accent});
        if (problem != nullptr) pane.put(x + 1, y, U'!', {role_of(problem)});
    };
    return mark;
}

/// A group's title lies over the columns that say which flow a row is.
std::size_t spanned_by_title(const ModelState& state) {
    for (std::size_t i = 0; i < state.columns.size(); ++i)
        if (state.columns[i].form == CellForm::ends) return i + 1;
    return 1;
}

TableRow group_row(const ModelState& state, const FlowLine& line, const exporters::Context& context,
                   const Letters& letters) {
    TableRow row;
    row.spans = spanned_by_title(state);
    for (const Column& column : state.columns)
        row.cells.push_back(column.form == CellForm::cause
                                ? cause_cell(line.problem)
                                : flow_cell(column, {*line.flow, context}, letters, line.idle));
    if (row.cells.empty()) row.cells.emplace_back();
    std::string title;
    append_utf8(title, line.folded ? letters.folded : letters.unfolded);
    title += fmt::format(" {}, {}", *line.title, base::format_counted(line.members, "flow"));
    row.cells.front() = {std::move(title), {Role::title, false, true}};
    return row;
}

TableRow flow_row(const ModelState& state, const FlowLine& line, const exporters::Context& context,
                  const Letters& letters) {
    TableRow row;
    for (const Column& column : state.columns)
        row.cells.push_back(flow_cell(column, {*line.flow, context}, letters, line.idle));
    row.mark = mark_of(line);
    return row;
}

/// Why there is no flow, and where to look instead.
std::vector<std::string> no_flows(const ModelState& state) {
    const metrics::CaptureFigures& capture = state.reading->total.capture;
    const bool over = state.feed.playable && state.feed.at_end;
    if (capture.rdma_units > 0 && capture.flows_seen == 0) {
        std::vector<std::string> lines{
            fmt::format("no data{} on {}: only connection set-up was seen", over ? "" : " yet", state.feed.name),
            base::format_counted(capture.rdma_units, "RDMA packet")};
        lines.back() += capture.rdma_units == 1 ? ", which sets a connection up or ends it"
                                                : ", all to set connections up or end them";
        const auto& events = state.events.lines();
        if (std::any_of(events.begin(), events.end(),
                        [](const EventLine& event) { return event.source == EventLine::Source::attempt; }))
            lines.emplace_back("4 shows the events: a connection did not come about");
        return lines;
    }
    std::vector<std::string> lines{fmt::format("no RDMA traffic{} on {}", over ? "" : " yet", state.feed.name)};
    if (capture.rdma_units > 0)
        lines.push_back(
            fmt::format("{} seen, but of no flow", base::format_counted(capture.rdma_units, "RDMA packet")));
    else if (capture.packets > 0)
        lines.push_back(fmt::format("{} seen, none of them RoCE, InfiniBand or iWARP",
                                    base::format_counted(capture.packets, "packet")));
    else if (state.feed.rdma_only)
        lines.emplace_back("none was seen; other traffic is not looked at (rdmascope dump --all -i shows it)");
    else
        lines.emplace_back("not a single packet was seen");
    if (std::string unread = metrics::describe_unread_carriers(capture); !unread.empty())
        lines.push_back(std::move(unread));
    return lines;
}

void draw_no_flows(Canvas& canvas, Pane& pane) {
    const ModelState& state = canvas.state;
    if (!state.reading) return draw_no_reading(pane, state);
    std::vector<std::string> lines;
    if (state.list.hidden() > 0) {
        const bool by_problem = state.filter_text.empty();
        lines = {fmt::format("{} hides {}{}", by_problem ? "! (only flows with a problem)" : "the filter",
                             state.list.hidden() == 1 ? "the only flow" : "all ",
                             state.list.hidden() == 1 ? "" : base::format_counted(state.list.hidden(), "flow")),
                 by_problem ? "no flow has a problem now" : fmt::format("filter {}", state.filter_text),
                 by_problem ? "! shows all flows" : "/ changes it, Escape ends it"};
    } else {
        lines = no_flows(state);
        if (state.feed.playable && !state.feed.playing) lines.emplace_back("paused: the space bar goes on");
    }
    draw_notice(pane, lines);
}

/// How many flows bear a mark, on the page or not: "! 3 with a problem". A narrow screen needs the room for its legend:
/// "! 3 flows".
std::string problem_count_text(const ModelState& state, int width) {
    const std::size_t problems = state.list.problems();
    if (problems == 0) return {};
    return width < roomy_from ? fmt::format("! {}", base::format_counted(problems, "flow"))
                              : fmt::format("! {} with a problem", base::group_digits(problems));
}

/// Explains the letters that are on the page, which are those of bars of `bar` columns.
void draw_legend(Canvas& canvas, Pane& pane, PageOfRows page, int bar) {
    metrics::StateTimes letters{};
    for (std::size_t i = page.first; i < page.last; ++i)
        add_state_letters(letters, bar, canvas.state.list.lines()[i].flow->state_ns);
    const std::string problem = problem_count_text(canvas.state, pane.width());
    const int right = pane.width() - 1 - width_of(problem);
    pane.text(right, pane.height() - 1, problem, {Role::bad});
    draw_state_legend(pane, 2, pane.height() - 1, right - 4, letters);
}

/// Of the column that says where the time went, 0 where it is not shown.
int bar_width(const ModelState& state, const std::vector<int>& widths) {
    for (std::size_t i = 0; i < state.columns.size(); ++i)
        if (state.columns[i].form == CellForm::states) return widths[i];
    return 0;
}

}  // namespace

void draw_flows(Canvas& canvas, Area area) {
    const ModelState& state = canvas.state;
    Pane pane(canvas, area);
    const std::vector<FlowLine>& lines = state.list.lines();
    const bool legend = pane.height() >= legend_from;
    const int height = pane.height() - 1 - (legend ? 1 : 0);
    canvas.drawn.page = static_cast<std::size_t>(std::max(height, 1));
    if (!state.reading || lines.empty()) return draw_no_flows(canvas, pane);

    const std::vector<TableColumn> columns = columns_of_table(state, pane.width());
    std::deque<exporters::Context> contexts;  // which cells refer to
    const PageOfRows page = page_of(state.place(), lines.size(), height);
    std::vector<TableRow> rows;
    for (std::size_t i = page.first; i < page.last; ++i) {
        const FlowLine& line = lines[i];
        contexts.push_back(context_of(line, state.choice.window, *state.reading, state.names));
        const exporters::Context& context = contexts.back();
        TableRow row = line.group ? group_row(state, line, context, canvas.letters)
                                  : flow_row(state, line, context, canvas.letters);
        row.index = i;
        row.selected = i == state.place().selected;
        rows.push_back(std::move(row));
    }
    const std::vector<int> widths = draw_table(pane, 0, columns, rows);
    if (legend) draw_legend(canvas, pane, page, bar_width(state, widths));
}

}  // namespace tui::view
