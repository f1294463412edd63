// Help, answers and details: texts that are scrolled.
#include <algorithm>

#include "tui/model/key_row.h"

namespace tui::inline model {

void Workings::close_overlay() {
    state.overlay = Overlay::none;
    state.prompt = {};
    state.menu = {};
}

void Workings::open_text(Overlay overlay, std::size_t text_rows) {
    state.overlay = overlay;
    state.overlay_place = {};
    settle(state.overlay_place, text_rows, overlay_page);
}

/// A text has no selected line: the first in sight counts.
void Workings::scroll_text(std::ptrdiff_t lines) {
    Place& place = state.overlay_place;
    const std::size_t most = place.count > overlay_page ? place.count - overlay_page : 0;
    const auto to = static_cast<std::ptrdiff_t>(place.top) + lines;
    place.top = static_cast<std::size_t>(std::clamp(to, std::ptrdiff_t{0}, static_cast<std::ptrdiff_t>(most)));
    place.selected = place.top;
}

namespace text_overlay {

namespace {
std::ptrdiff_t page(const Workings& w) { return static_cast<std::ptrdiff_t>(w.overlay_page); }
std::ptrdiff_t all(const Workings& w) { return static_cast<std::ptrdiff_t>(w.state.overlay_place.count); }
}  // namespace

void down(Workings& w) { w.scroll_text(1); }
void up(Workings& w) { w.scroll_text(-1); }
void page_down(Workings& w) { w.scroll_text(page(w)); }
void page_up(Workings& w) { w.scroll_text(-page(w)); }
void first(Workings& w) { w.scroll_text(-all(w)); }
void last(Workings& w) { w.scroll_text(all(w)); }
void close(Workings& w) { w.close_overlay(); }

namespace {
void neighbour(Workings& w, std::ptrdiff_t step) {
    if (w.state.overlay != Overlay::details) return;
    w.move(step);
    look::open_packet(w);
}
}  // namespace
void next(Workings& w) { neighbour(w, 1); }
void previous(Workings& w) { neighbour(w, -1); }

}  // namespace text_overlay

}  // namespace tui::model
