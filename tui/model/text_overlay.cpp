// Help, answers and details: texts that are scrolled.
#include <algorithm>

#include "tui/model/key_row.h"

namespace tui::inline model {

void Controller::close_overlay() {
    state.overlay = Overlay::none;
    state.prompt = {};
    state.menu = {};
}

void Controller::open_text(Overlay overlay, std::size_t text_rows) {
    state.overlay = overlay;
    state.overlay_place = {};
    settle(state.overlay_place, text_rows, overlay_page);
}

/// A text has no selected line: the first in sight counts.
void Controller::scroll_text(std::ptrdiff_t lines) {
    Place& place = state.overlay_place;
    const std::size_t most = place.count > overlay_page ? place.count - overlay_page : 0;
    const auto to = static_cast<std::ptrdiff_t>(place.top) + lines;
    place.top = static_cast<std::size_t>(std::clamp(to, std::ptrdiff_t{0}, static_cast<std::ptrdiff_t>(most)));
    place.selected = place.top;
}

namespace text_overlay {

namespace {
std::ptrdiff_t page(const Controller& controller) { return static_cast<std::ptrdiff_t>(controller.overlay_page); }
std::ptrdiff_t all(const Controller& controller) {
    return static_cast<std::ptrdiff_t>(controller.state.overlay_place.count);
}
}  // namespace

void down(Controller& controller) { controller.scroll_text(1); }
void up(Controller& controller) { controller.scroll_text(-1); }
void page_down(Controller& controller) { controller.scroll_text(page(controller)); }
void page_up(Controller& controller) { controller.scroll_text(-page(controller)); }
void first(Controller& controller) { controller.scroll_text(-all(controller)); }
void last(Controller& controller) { controller.scroll_text(all(controller)); }
void close(Controller& controller) { controller.close_overlay(); }

void open_evidence(Controller& controller) {
    if (controller.state.overlay != Overlay::answers || controller.evidence.empty()) return close(controller);
    controller.open_frame(controller.evidence.front());
}

void next_evidence(Controller& controller) {
    if (controller.state.overlay != Overlay::details) return;
    const auto& frames = controller.evidence;
    const auto at = std::find(frames.begin(), frames.end(), controller.state.details_frame);
    if (at == frames.end() || at + 1 == frames.end()) return controller.say("no further packet of why");
    controller.open_frame(*(at + 1));
}

namespace {
void neighbour(Controller& controller, std::ptrdiff_t step) {
    if (controller.state.overlay != Overlay::details) return;
    controller.move(step);
    look::open_packet(controller);
}
}  // namespace
void next(Controller& controller) { neighbour(controller, 1); }
void previous(Controller& controller) { neighbour(controller, -1); }

}  // namespace text_overlay

}  // namespace tui::model
