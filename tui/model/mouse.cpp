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

void scroll(Controller& controller, std::ptrdiff_t rows) {
    switch (controller.state.overlay) {
        case Overlay::none:
            if (controller.state.view != View::flow) controller.move(rows);
            break;
        case Overlay::menu:
            for (std::ptrdiff_t i = 0; i < wheel_rows; ++i) rows > 0 ? menu::down(controller) : menu::up(controller);
            break;
        case Overlay::help:
        case Overlay::letters:
        case Overlay::answers:
        case Overlay::details: controller.scroll_text(rows); break;
        case Overlay::prompt: break;
    }
}

/// What Enter would do.
void open(Controller& controller) {
    if (const KeyRow* row = find_key(key(Named::enter), controller.state.view, Overlay::none)) row->act(controller);
}

void press_row(Controller& controller, std::size_t row, bool twice) {
    // The rows of the view of one flow are of no list.
    if (controller.state.view == View::flow || row >= controller.state.place().count) return;
    const bool again =
        controller.state.place().selected == row && controller.held[static_cast<std::size_t>(controller.state.view)];
    controller.select(controller.state.view, row);
    controller.held[static_cast<std::size_t>(controller.state.view)] = true;
    controller.count_rows();
    if (again || twice) open(controller);
}

void press_hit(Controller& controller, const Hit& hit, bool twice) {
    using Target = Hit::Target;
    if (controller.state.overlay == Overlay::menu && hit.target == Target::item) {
        const bool again = controller.state.menu.place.selected == hit.value;
        controller.select_item(hit.value);
        if (again || twice || controller.state.menu.purpose == Menu::Purpose::columns)
            controller.choose_item(hit.value);
        return;
    }
    if (controller.state.overlay != Overlay::none) return;
    switch (hit.target) {
        case Target::row: return press_row(controller, hit.value, twice);
        case Target::heading: return choose::heading(controller, hit.value);
        case Target::tab:
            if (hit.value + 1 < view_count) controller.go_to(static_cast<View>(hit.value));
            return;
        case Target::play: return time::pause(controller);
        case Target::position: return time::jump_to_share(controller, hit.value);
        case Target::item: return;
    }
}

}  // namespace

void Model::click(const Mouse& mouse) {
    Controller& controller = *controller_;
    controller.state.message.clear();
    switch (mouse.action) {
        case Mouse::Action::scroll_up: return scroll(controller, -wheel_rows);
        case Mouse::Action::scroll_down: return scroll(controller, wheel_rows);
        case Mouse::Action::press:
        case Mouse::Action::double_press: break;
    }
    if (const Hit* hit = hit_at(controller.hits, mouse.x, mouse.y))
        press_hit(controller, *hit, mouse.action == Mouse::Action::double_press);
}

}  // namespace tui::model
