#include "tui/model/model.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "tui/model/key_row.h"

namespace tui::inline model {

const metrics::Snapshot* State::shown() const {
    if (reading == nullptr) return nullptr;
    return choice.window == Window::interval ? &reading->interval : &reading->total;
}
const metrics::FlowSnapshot* State::flow_total() const {
    return reading == nullptr ? nullptr : reading->total.flow(flow_id);
}
const metrics::FlowSnapshot* State::flow_interval() const {
    return reading == nullptr ? nullptr : reading->interval.flow(flow_id);
}

Model::Model(Settings settings, Feed& feed, const metrics::HostNames* names, const dissect::FieldRegistry& registry)
    : workings_(std::make_unique<Workings>(std::move(settings), feed, names, registry)) {}
Model::~Model() = default;

const State& Model::state() const { return workings_->state; }

void Model::press(const Key& key) {
    Workings& w = *workings_;
    w.state.message.clear();
    w.state.message_is_error = false;
    if (const KeyRow* row = find_key(key, w.state.view, w.state.overlay)) return row->act(w);
    switch (w.state.overlay) {
        case Overlay::none: return w.say("? lists the keys");
        case Overlay::prompt:
            if (key.named == Named::none) w.type(key.character);
            return;
        case Overlay::menu:
            if (key.named != Named::none || key.character <= 0x20 || key.character >= 0x7f) return;
            w.state.menu.typed += static_cast<char>(key.character);
            return w.narrow_menu();
        case Overlay::help:
        case Overlay::answers:
        case Overlay::details: return;
    }
}

void Model::drawn(Drawn drawn) {
    Workings& w = *workings_;
    w.hits = std::move(drawn.hits);
    w.pages[static_cast<std::size_t>(w.state.view)] = std::max<std::size_t>(drawn.page, 1);
    w.count_rows();
    if (w.state.overlay == Overlay::none || w.state.overlay == Overlay::prompt) return;
    w.overlay_page = std::max<std::size_t>(drawn.overlay_page, 1);
    if (w.state.overlay == Overlay::menu) return settle(w.state.menu.place, w.state.menu.items.size(), w.overlay_page);
    w.state.overlay_place.count = drawn.overlay_rows;
    w.scroll_text(0);
}

void Model::say(std::string message, bool is_error) {
    workings_->state.message = std::move(message);
    workings_->state.message_is_error = is_error;
}

std::vector<Request> Model::take_requests() { return std::exchange(workings_->requests, {}); }

}  // namespace tui::model
