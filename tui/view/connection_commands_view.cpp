// The commands of one connection: how long they took in the course of time, the slowest ones, and errors.
#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tui/view/chart.h"
#include "tui/view/figures.h"
#include "tui/view/screen.h"
#include "tui/view/table.h"

namespace tui::inline view {

namespace {

using metrics::CommandConnectionFigures;
using metrics::CommandKindFigures;
using metrics::CommandRecord;

constexpr std::size_t most_slowest = 8;
constexpr std::size_t most_errors = 6;

std::vector<const CommandRecord*> slowest_of(const CommandConnectionFigures& commands) {
    std::vector<const CommandRecord*> all;
    for (const CommandKindFigures& kind : commands.kinds)
        if (!kind.housekeeping)
            for (const CommandRecord& record : kind.slowest) all.push_back(&record);
    std::ranges::stable_sort(all, std::greater<>{},
                             [](const CommandRecord* one) { return one->latency_ns.value_or(0); });
    if (all.size() > most_slowest) all.resize(most_slowest);
    return all;
}

/// "745, 747-1000, 1001": frames of the request, of the data and of the response.
std::string frames_text(const CommandRecord& record) {
    std::string text = std::to_string(record.request_last_frame);
    if (record.data_first_frame != 0)
        text += record.data_first_frame == record.data_last_frame
                    ? fmt::format(", {}", record.data_first_frame)
                    : fmt::format(", {}-{}", record.data_first_frame, record.data_last_frame);
    if (record.response_frame != 0) text += fmt::format(", {}", record.response_frame);
    return text;
}

TableCell duration_cell(std::uint64_t ns, const Letters& letters) {
    if (ns == 0) return {"0", {Role::dim}};
    return {base::format_duration(ns, in_column(letters))};
}

TableRow row_of(const CommandRecord& record, const Letters& letters) {
    TableRow row;
    row.cells = {{record.kind},
                 {record.id},
                 {record.target},
                 {record.bytes ? base::format_size(static_cast<double>(*record.bytes), {base::Spacing::column})
                               : std::string("-")},
                 duration_cell(record.latency_ns.value_or(0), letters)};
    for (const std::uint64_t part : record.parts_ns) row.cells.push_back(duration_cell(part, letters));
    row.cells.push_back(duration_cell(record.repair_own_ns + record.repair_behind_ns, letters));
    row.cells.push_back({frames_text(record), {Role::dim}});
    return row;
}

void draw_heading(Pane& pane, int y, std::string_view words) {
    const int x = 2 + pane.text(2, y, words, {Role::title, false, true}) + 1;
    pane.fill(x, y, pane.width() - x, pane.letters.horizontal, {Role::dim});
}

void draw_slowest(Canvas& canvas, Area area, const std::vector<const CommandRecord*>& slowest) {
    static const std::vector<TableColumn> columns{
        {"kind", true, 10, 6, 24, 0},    {"id", true, 6, 0, 0, 5},       {"target", true, 6, 4, 24, 6},
        {"bytes", false, 7, 0, 0, 3},    {"latency", false, 7, 0, 0, 0}, {"request", false, 7, 0, 0, 2},
        {"before", false, 7, 0, 0, 1},   {"data", false, 7, 0, 0, 1},    {"after", false, 7, 0, 0, 1},
        {"response", false, 8, 0, 0, 2}, {"repair", false, 7, 0, 0, 1},  {"frames", true, 12, 0, 40, 4}};
    Pane pane(canvas, area);
    if (pane.height() < 3) return;
    draw_heading(pane, 0, "the slowest commands");
    std::vector<TableRow> rows;
    for (const CommandRecord* record : slowest) rows.push_back(row_of(*record, canvas.letters));
    draw_table(pane, 1, columns, rows);
}

using Errors = std::vector<std::pair<std::string, std::uint64_t>>;

/// Commands by the status of their error, the most frequent first.
Errors errors_of(const CommandConnectionFigures& commands) {
    std::map<std::string, std::uint64_t> sums;
    for (const CommandKindFigures& kind : commands.kinds) {
        for (const auto& [status, count] : kind.statuses) sums[kind.kind + ": " + status] += count;
        if (kind.unanswered != 0 && !kind.housekeeping) sums[kind.kind + ": no response"] += kind.unanswered;
    }
    Errors errors(sums.begin(), sums.end());
    std::ranges::stable_sort(errors, std::greater<>{}, [](const auto& one) { return one.second; });
    if (errors.size() > most_errors) errors.resize(most_errors);
    return errors;
}

void draw_errors(Canvas& canvas, Area area, const Errors& errors) {
    Pane pane(canvas, area);
    if (pane.height() < 2) return;
    draw_heading(pane, 0, "errors");
    if (errors.empty()) {
        pane.text(2, 1, "none", {Role::dim});
        return;
    }
    int y = 1;
    for (const auto& [text, count] : errors) {
        pane.right(2, y, base::group_digits(count), {Role::bad}, 8);
        pane.text(12, y++, text, {}, pane.width() - 12);
    }
}

}  // namespace

void draw_connection_commands(Canvas& canvas, Area area) {
    const FlowPicture picture = picture_of_commands(canvas.state);
    if (picture.any() == nullptr || !picture.any()->commands) return;
    if (canvas.state.spread) return draw_command_latency_chart(canvas, area, picture);
    const CommandConnectionFigures& commands = *picture.any()->commands;
    const std::vector<const CommandRecord*> slowest = slowest_of(commands);
    const Errors errors = errors_of(commands);
    constexpr int least_chart = 7;
    const int room = std::max(area.height - least_chart, 0);
    const int error_rows = std::min(static_cast<int>(std::max<std::size_t>(errors.size(), 1)) + 1, room);
    const int slowest_rows = std::min(static_cast<int>(slowest.size()) + 2, room - error_rows);
    const int chart_rows = area.height - error_rows - slowest_rows;
    draw_command_latency_chart(canvas, {area.x, area.y, area.width, chart_rows}, picture);
    draw_slowest(canvas, {area.x, area.y + chart_rows, area.width, slowest_rows}, slowest);
    draw_errors(canvas, {area.x, area.y + chart_rows + slowest_rows, area.width, error_rows}, errors);
}

}  // namespace tui::view
