// One flow: who it is, its figures, how they came about.
#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "exporters/flow_fields.h"
#include "tui/view/chart.h"
#include "tui/view/event_rows.h"
#include "tui/view/figures.h"
#include "tui/view/flow_cells.h"
#include "tui/view/flow_figures.h"
#include "tui/view/screen.h"
#include "tui/view/table.h"
#include "tui/view/wrap.h"

namespace tui::inline view {

namespace {

using Draw = void (*)(Canvas&, Area, const FlowPicture&, bool);
constexpr std::array<Draw, chart_count> charts{draw_states_chart, draw_latency_chart, draw_sequence_chart,
                                               draw_outstanding_chart};

constexpr int all_charts_width = 100;  ///< from here on all are shown at once
constexpr int all_charts_height = 30;
constexpr int least_chart = 7;  ///< rows
constexpr std::size_t most_events = 64;
constexpr int few_events = 5;  ///< rows

/// Who it is, and what was agreed on. Returns the rows taken.
int draw_identity(Canvas& canvas, Area area, const FlowPicture& picture) {
    Pane pane(canvas, area);
    const metrics::FlowSnapshot& flow = *picture.any();
    const exporters::Context context{picture.state.names};
    const exporters::FlowRow row{flow, context};
    const std::string ends = flow_text(row, canvas.letters, std::max(pane.width() - 2, 8));
    const int taken = pane.text(1, 0, ends, {Role::accent, false, true});
    const std::string identity = identity_text(picture, canvas.letters);
    int y = 1;
    if (1 + taken + 2 + width_of(identity) <= pane.width()) {
        pane.text(1 + taken + 2, 0, identity, {});
    } else {
        pane.text(1, y++, identity, {}, pane.width() - 1);
    }
    constexpr std::size_t most_lines = 2;
    const std::vector<std::string> lines = wrapped(connection_text(flow, canvas.letters), pane.width() - 2);
    for (std::size_t i = 0; i < lines.size() && i < most_lines; ++i) {
        const bool cut = i + 1 == most_lines && lines.size() > most_lines;
        pane.text(1, y++, cut ? lines[i] + " " + lines[i + 1] : lines[i], {Role::dim}, pane.width() - 2);
    }
    return y;
}

/// If there is no room, how the flow ended is left to the events view.
void keep_causes(std::vector<const EventLine*>& events) {
    const auto is_end = [](const EventLine* event) {
        return event->kind == metrics::EventKind::disconnected || event->kind == metrics::EventKind::reset;
    };
    if (!std::all_of(events.begin(), events.end(), is_end)) std::erase_if(events, is_end);
}

void draw_events_of(Canvas& canvas, Area area, const FlowPicture& picture) {
    Pane pane(canvas, area);
    if (pane.height() < 2) return;
    const metrics::FlowSnapshot* const flow = picture.any();
    auto events = picture.state.events.of_flow(picture.state.flow_id, flow->reverse.value_or(0), most_events);
    if (pane.height() < few_events) keep_causes(events);
    const int x = 2 + pane.text(2, 0, "events, the newest first", {Role::title, false, true}) + 1;
    pane.fill(x, 0, pane.width() - x, pane.letters.horizontal, {Role::dim});
    if (events.empty()) {
        pane.text(2, 1, "none", {Role::dim});
        return;
    }
    for (std::size_t i = 0; i < events.size() && static_cast<int>(i) + 1 < pane.height(); ++i)
        draw_event(pane, static_cast<int>(i) + 1, *events[i], events[i]->flow != picture.state.flow_id);
}

void draw_all(Canvas& canvas, Area area, const FlowPicture& picture) {
    constexpr int across = 2;
    const int down = (static_cast<int>(charts.size()) + across - 1) / across;
    const int width = area.width / across;
    for (std::size_t i = 0; i < charts.size(); ++i) {
        const int column = static_cast<int>(i) % across;
        const int row = static_cast<int>(i) / across;
        const int top = area.height * row / down;
        const int bottom = area.height * (row + 1) / down;
        const Area part{area.x + column * width, area.y + top, width - (column + 1 < across ? 1 : 0), bottom - top};
        charts[i](canvas, part, picture, i == picture.state.chart);
    }
}

Area below(Area area, int rows) { return {area.x, area.y + rows, area.width, std::max(area.height - rows, 0)}; }
Area top_of(Area area, int rows) { return {area.x, area.y, area.width, std::min(rows, area.height)}; }
Area bottom_of(Area area, int rows) { return below(area, area.height - rows); }

void draw_gone(Canvas& canvas, Area area) {
    Pane pane(canvas, area);
    if (!canvas.state.reading) return draw_no_reading(pane, canvas.state);
    draw_notice(pane, std::array<std::string, 2>{"this flow is no longer there",
                                                 "it was idle for long, or the source began again; Escape goes back"});
}

}  // namespace

void draw_flow(Canvas& canvas, Area area) {
    const FlowPicture picture = picture_of(canvas.state);
    if (picture.any() == nullptr) return draw_gone(canvas, area);
    if (canvas.state.shows_commands()) {
        if (!canvas.state.spread) area = below(area, draw_identity(canvas, area, picture));
        return draw_connection_commands(canvas, area);
    }
    const std::size_t chosen = canvas.state.chart % charts.size();
    if (canvas.state.spread) {
        Pane pane(canvas, area);
        const exporters::Context context{canvas.state.names};
        pane.text(1, 0, flow_text({*picture.any(), context}, canvas.letters, std::max(area.width - 2, 8)),
                  {Role::accent, false, true});
        return charts[chosen](canvas, below(area, 1), picture, true);
    }
    area = below(area, draw_identity(canvas, area, picture));
    const bool all = area.width >= all_charts_width && area.height >= all_charts_height - 3;
    const int events = area.height >= 40 ? 9 : area.height >= 26 ? 6 : area.height >= 15 ? 3 : 0;
    const auto figures = flow_figures(picture, canvas.letters);
    const int room = area.height - events - (all ? 2 : 1) * least_chart;
    const int height = figures_height(figures, area.width, std::max(room, 3));
    draw_figures(canvas, top_of(area, height), figures);
    area = below(area, height);
    draw_events_of(canvas, bottom_of(area, events), picture);
    area.height -= events;
    if (all) return draw_all(canvas, area, picture);
    charts[chosen](canvas, area, picture, true);
}

}  // namespace tui::view
