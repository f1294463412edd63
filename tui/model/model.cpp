#include "tui/model/model.h"

#include <algorithm>
#include <utility>

#include "tui/model/key_row.h"

namespace tui::inline model {

const metrics::Snapshot* ModelState::shown() const {
    if (reading == nullptr) return nullptr;
    return choice.window == Window::interval ? &reading->interval : &reading->total;
}
const metrics::FlowSnapshot* ModelState::flow_total() const {
    return reading == nullptr ? nullptr : reading->total.flow(flow_id);
}
bool ModelState::shows_commands() const {
    if (view != View::flow || back != View::io) return false;
    const metrics::FlowSnapshot* const total = flow_total();
    const metrics::FlowSnapshot* const flow = total != nullptr ? total : flow_interval();
    return flow != nullptr && flow->commands && !flow->commands->of_target;
}

const metrics::FlowSnapshot* ModelState::flow_interval() const {
    return reading == nullptr ? nullptr : reading->interval.flow(flow_id);
}

Model::Model(Settings settings, Feed& feed, const metrics::HostNames* names, const dissect::FieldRegistry& registry)
    : controller_(std::make_unique<Controller>(std::move(settings), feed, names, registry)) {}
Model::~Model() = default;

const ModelState& Model::state() const { return controller_->state; }

void Model::press(const Key& key) {
    Controller& controller = *controller_;
    controller.state.message.clear();
    controller.state.message_is_error = false;
    if (const KeyRow* row = find_key(key, controller.state.view, controller.state.overlay)) return row->act(controller);
    switch (controller.state.overlay) {
        case Overlay::none: return controller.say("? lists the keys");
        case Overlay::prompt:
            if (key.named == Named::none) controller.type(key.character);
            return;
        case Overlay::menu:
            if (key.named != Named::none || key.character <= 0x20 || key.character >= 0x7f) return;
            controller.state.menu.typed += static_cast<char>(key.character);
            return controller.narrow_menu();
        case Overlay::help:
        case Overlay::letters:
        case Overlay::answers:
        case Overlay::details: return;
    }
}

void Model::drawn(Drawn drawn) {
    Controller& controller = *controller_;
    controller.hits = std::move(drawn.hits);
    controller.pages[static_cast<std::size_t>(controller.state.view)] = std::max<std::size_t>(drawn.page, 1);
    controller.count_rows();
    if (controller.state.overlay == Overlay::none || controller.state.overlay == Overlay::prompt) return;
    controller.overlay_page = std::max<std::size_t>(drawn.overlay_page, 1);
    if (controller.state.overlay == Overlay::answers && !drawn.evidence.empty())
        controller.evidence = std::move(drawn.evidence);
    if (controller.state.overlay == Overlay::menu)
        return settle(controller.state.menu.place, controller.state.menu.items.size(), controller.overlay_page);
    controller.state.overlay_place.count = drawn.overlay_rows;
    controller.scroll_text(0);
}

void Model::say(std::string message, bool is_error) {
    controller_->state.message = std::move(message);
    controller_->state.message_is_error = is_error;
}

std::vector<Request> Model::take_requests() { return std::exchange(controller_->requests, {}); }

}  // namespace tui::model
