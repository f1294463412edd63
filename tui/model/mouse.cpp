#include <algorithm>

#include "tui/model/key_row.h"

namespace tui::inline model {

namespace {

constexpr std::ptrdiff_t wheel_rows = 3;

const Hit* hit_at(const std::vector<Hit>& hits, int x, int y) {
    const auto found = std::find_if(hits.rbegin(), hits.rend(), [x, y](const Hit& hit) {
        return x >= hit.x && x < hit.x + hit.width && y >= hit.y && y < hit.y + hit.height;
    });
    return found == hits.rend() ? nullptr : &*found;
}

void scroll(Workings& w, std::ptrdiff_t rows) {
    switch (w.state.overlay) {
        case Overlay::none:
            if (w.state.view != View::flow) w.move(rows);
            break;
        case Overlay::menu:
            for (std::ptrdiff_t i = 0; i < wheel_rows; ++i) rows > 0 ? menu::down(w) : menu::up(w);
            break;
        case Overlay::help:
        case Overlay::answers:
        case Overlay::details: w.scroll_text(rows); break;
        case Overlay::prompt: break;
    }
}

/// What Enter would do.
void open(Workings& w) {
    if (const KeyRow* row = find_key(key(Named::enter), w.state.view, Overlay::none)) row->act(w);
}

void press_row(Workings& w, std::size_t row, bool twice) {
    // The rows of the view of one flow are of no list.
    if (w.state.view == View::flow || row >= w.state.place().count) return;
    const bool again = w.state.place().selected == row && w.held[static_cast<std::size_t>(w.state.view)];
    w.select(w.state.view, row);
    w.held[static_cast<std::size_t>(w.state.view)] = true;
    w.count_rows();
    if (again || twice) open(w);
}

void press_hit(Workings& w, const Hit& hit, bool twice) {
    using Target = Hit::Target;
    if (w.state.overlay == Overlay::menu && hit.target == Target::item) {
        const bool again = w.state.menu.place.selected == hit.value;
        w.select_item(hit.value);
        if (again || twice || w.state.menu.purpose == Menu::Purpose::columns) w.choose_item(hit.value);
        return;
    }
    if (w.state.overlay != Overlay::none) return;
    switch (hit.target) {
        case Target::row: return press_row(w, hit.value, twice);
        case Target::heading: return choose::heading(w, hit.value);
        case Target::tab:
            if (hit.value + 1 < view_count) w.go_to(static_cast<View>(hit.value));
            return;
        case Target::play: return time::pause(w);
        case Target::position: return time::jump_to_share(w, hit.value);
        case Target::item: return;
    }
}

}  // namespace

void Model::click(const Mouse& mouse) {
    Workings& w = *workings_;
    w.state.message.clear();
    switch (mouse.action) {
        case Mouse::Action::scroll_up: return scroll(w, -wheel_rows);
        case Mouse::Action::scroll_down: return scroll(w, wheel_rows);
        case Mouse::Action::press:
        case Mouse::Action::double_press: break;
    }
    if (const Hit* hit = hit_at(w.hits, mouse.x, mouse.y))
        press_hit(w, *hit, mouse.action == Mouse::Action::double_press);
}

}  // namespace tui::model
