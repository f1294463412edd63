// Keys that move: rows, flows, charts.
#include "tui/model/key_row.h"

namespace tui::inline model::move {

namespace {

std::ptrdiff_t page(const Workings& w) {
    return static_cast<std::ptrdiff_t>(w.pages[static_cast<std::size_t>(w.state.view)]);
}

/// Rows that are groups are no flows.
void to_flow(Workings& w, std::ptrdiff_t step) {
    const auto& lines = w.state.list.lines();
    auto at = static_cast<std::ptrdiff_t>(w.state.place().selected);
    if (!w.state.list.find(w.state.flow_id)) at -= step > 0 ? 1 : 0;
    do at += step;
    while (at >= 0 && at < std::ssize(lines) && lines[static_cast<std::size_t>(at)].group);
    if (at < 0 || at >= std::ssize(lines)) return w.say(step > 0 ? "the last flow" : "the first flow");
    w.select(View::flows, static_cast<std::size_t>(at));
    w.open_flow(lines[static_cast<std::size_t>(at)].id());
}

}  // namespace

void down(Workings& w) { w.move(1); }
void up(Workings& w) { w.move(-1); }
void page_down(Workings& w) { w.move(page(w)); }
void page_up(Workings& w) { w.move(-page(w)); }

void first(Workings& w) {
    w.select(w.state.view, 0);
    // Of lists that follow their end, the first row is one to stay on.
    const bool follows = w.state.view == View::events || w.state.view == View::packets;
    if (!follows) w.held[static_cast<std::size_t>(w.state.view)] = false;
}

void last(Workings& w) {
    const std::size_t count = w.state.place().count;
    if (count > 0) w.select(w.state.view, count - 1);
}

void next_flow(Workings& w) { to_flow(w, 1); }
void previous_flow(Workings& w) { to_flow(w, -1); }

void next_chart(Workings& w) { w.state.chart = (w.state.chart + 1) % chart_count; }
void previous_chart(Workings& w) { w.state.chart = (w.state.chart + chart_count - 1) % chart_count; }

}  // namespace tui::model::move
