// Keys that move: rows, flows, charts.
#include "tui/model/key_row.h"

namespace tui::inline model::move {

namespace {

std::ptrdiff_t page(const Controller& controller) {
    return static_cast<std::ptrdiff_t>(controller.pages[static_cast<std::size_t>(controller.state.view)]);
}

/// Rows that are groups are no flows.
void to_flow(Controller& controller, std::ptrdiff_t step) {
    const auto& lines = controller.state.list.lines();
    auto at = static_cast<std::ptrdiff_t>(controller.state.place().selected);
    if (!controller.state.list.find(controller.state.flow_id)) at -= step > 0 ? 1 : 0;
    do at += step;
    while (at >= 0 && at < std::ssize(lines) && lines[static_cast<std::size_t>(at)].group);
    if (at < 0 || at >= std::ssize(lines)) return controller.say(step > 0 ? "the last flow" : "the first flow");
    controller.select(View::flows, static_cast<std::size_t>(at));
    controller.open_flow(lines[static_cast<std::size_t>(at)].id());
}

}  // namespace

void down(Controller& controller) { controller.move(1); }
void up(Controller& controller) { controller.move(-1); }
void page_down(Controller& controller) { controller.move(page(controller)); }
void page_up(Controller& controller) { controller.move(-page(controller)); }

void first(Controller& controller) {
    controller.select(controller.state.view, 0);
    // Of lists that follow their end, the first row is one to stay on.
    const bool follows = controller.state.view == View::events || controller.state.view == View::packets;
    if (!follows) controller.held[static_cast<std::size_t>(controller.state.view)] = false;
}

void last(Controller& controller) {
    if (controller.state.view == View::packets && controller.state.packets->stays()) controller.rebuild_packets();
    const std::size_t count = controller.state.place().count;
    if (count > 0) controller.select(controller.state.view, count - 1);
}

void next_flow(Controller& controller) { to_flow(controller, 1); }
void previous_flow(Controller& controller) { to_flow(controller, -1); }

void next_chart(Controller& controller) { controller.state.chart = (controller.state.chart + 1) % chart_count; }
void previous_chart(Controller& controller) {
    controller.state.chart = (controller.state.chart + chart_count - 1) % chart_count;
}

}  // namespace tui::model::move
