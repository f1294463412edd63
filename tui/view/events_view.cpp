// Events: what happened, to whom, and the frames that show it. The newest is below.
#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "tui/view/event_rows.h"
#include "tui/view/figures.h"
#include "tui/view/screen.h"
#include "tui/view/table.h"

namespace tui::inline view {

namespace {

Role event_role(const EventLine& event) {
    if (event.source == EventLine::Source::capture) return Role::alarm;
    if (event.bad) return Role::bad;
    const bool strain = event.kind == metrics::EventKind::ce_mark || event.kind == metrics::EventKind::cnp ||
                        event.kind == metrics::EventKind::pause || event.kind == metrics::EventKind::reordered;
    return strain ? Role::warning : Role::normal;
}

constexpr int time_width = 12;  ///< "02:14:21.115"
constexpr int narrow_events =
    100;  ///< on fewer columns, the count is joined to the description, and frames are seen by opening the flow

std::vector<TableColumn> columns_of(int width) {
    std::vector<TableColumn> made(width < narrow_events ? 3 : 5);
    made[0] = {"time", true, time_width};
    made[1] = {"flow", true, 31};  // "192.0.2.2/0x11 -> 192.0.2.1/0x12"
    made[2] = {"what", true, 24, 20, 60};
    if (width < narrow_events) return made;
    made[3] = {"count", false, 5};
    made[4] = {"frames", true, 12, 12, 40, 1};
    return made;
}

std::string with_arrow(std::string text, const Letters& letters) {
    if (const std::size_t at = text.find(" > "); at != std::string::npos) text.replace(at + 1, 1, letters.arrow);
    return text;
}

TableRow row_of(const EventLine& event, int width, const Letters& letters) {
    TableRow row;
    const Style style{event_role(event)};
    const std::string who = with_arrow(event.text, letters);
    row.cells = {{time_text(event), {Role::dim}}, {who, {}}, {describe(event), style}};
    if (width < narrow_events) {
        if (event.count > 1) row.cells[2].text += fmt::format(", {} times", base::group_digits(event.count));
        // Drawn, not measured: the longest of them must not push out what it was.
        row.cells[1] = {{}, {}, [who](Pane& pane, int x, int y, int room) { pane.text(x, y, who, {}, room); }};
    } else {
        row.cells.push_back({base::group_digits(event.count), style});
        row.cells.push_back({frames_text(event), {Role::dim}});
    }
    if (event.bad) row.mark.paint = [](Pane& pane, int x, int y, int) { pane.put(x + 1, y, U'!', {Role::bad}); };
    return row;
}

void draw_no_events(Canvas& canvas, Pane& pane) {
    if (!canvas.state.reading) return draw_no_reading(pane, canvas.state);
    draw_notice(pane, std::array<std::string, 2>{
                          "nothing has happened yet",
                          "losses, NAKs, RNR NAKs, CE marks, CNPs, Terminates and refused connections come here"});
}

}  // namespace

std::string time_text(const EventLine& event) {
    return event.time_ns ? clock_text(*event.time_ns, true) : between_text(event.start_ns, event.end_ns);
}

std::string frames_text(const EventLine& event) {
    if (event.frames.empty()) return "";
    std::string text = fmt::format("{}", fmt::join(event.frames, " "));
    if (event.source == EventLine::Source::flow && event.count > event.frames.size()) text += " ...";
    return text;
}

void draw_event(Pane& pane, int y, const EventLine& event, bool opposite) {
    const Role role = event_role(event);
    if (event.bad) pane.put(1, y, U'!', {Role::bad});
    int x = 2 + std::max(pane.text(2, y, time_text(event), {Role::dim}), time_width) + 2;
    x += pane.text(x, y, describe(event), {role}, pane.width() - x);
    if (event.count > 1) x += pane.text(x, y, fmt::format(", {} times", base::group_digits(event.count)), {role});
    if (opposite) x += pane.text(x, y, " (opposite direction)", {Role::dim});
    if (event.frames.empty()) return;
    pane.text(x, y, fmt::format("  frame{} {}", event.frames.size() == 1 ? "" : "s", frames_text(event)), {Role::dim},
              pane.width() - x);
}

void draw_events(Canvas& canvas, Area area) {
    const ModelState& state = canvas.state;
    Pane pane(canvas, area);
    const auto& lines = state.events.lines();
    const int height = pane.height() - 1;
    canvas.drawn.page = static_cast<std::size_t>(std::max(height, 1));
    if (lines.empty()) return draw_no_events(canvas, pane);
    const Place& place = state.places[static_cast<std::size_t>(View::events)];
    const PageOfRows page = page_of(place, lines.size(), height);
    std::vector<TableRow> rows;
    for (std::size_t i = page.first; i < page.last; ++i) {
        rows.push_back(row_of(lines[i], pane.width(), canvas.letters));
        rows.back().index = i;
        rows.back().selected = i == place.selected;
    }
    draw_table(pane, 0, columns_of(pane.width()), rows);
}

}  // namespace tui::view
