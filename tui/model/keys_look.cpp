// Keys that look at something: a view, a flow, a packet, why.
#include <algorithm>
#include <fmt/core.h>

#include "tui/model/key_row.h"

namespace tui::inline model::look {

namespace {

struct NoNames final : metrics::HostNames {
    std::string name(const metrics::Address& /*address*/) const override { return {}; }
};

/// Where Tab goes: the view of one flow has a neighbour, but is none.
void by(Controller& controller, int step) {
    constexpr int tabs = view_count - 1;
    const View from = controller.state.view == View::flow ? controller.state.back : controller.state.view;
    controller.go_to(static_cast<View>((static_cast<int>(from) + step + tabs) % tabs));
}

}  // namespace

void open_row(Controller& controller) {
    const FlowLine* line = controller.state.view == View::flows ? controller.selected_line() : nullptr;
    if (line != nullptr && line->group) return choose::turn_fold(controller);
    if (const auto id = controller.selected_flow()) return controller.open_flow(*id);
    controller.say(controller.state.view == View::events ? "this event is not of one flow" : "there is no flow yet");
}

void open_host(Controller& controller) {
    const std::size_t at = controller.state.place().selected;
    if (at >= controller.state.hosts.size()) return controller.say("there is no host yet");
    const std::string address = metrics::to_text(controller.state.hosts[at]->address);
    const std::string text = fmt::format(R"(source.address == "{0}" || destination.address == "{0}")", address);
    if (const auto applied = controller.apply_filter(text); !applied)
        return controller.complain(applied.error().text());
    controller.go_to(View::flows);
    controller.say("the flows of this host; Escape shows all again");
}

void open_packet(Controller& controller) {
    const auto& lines = controller.state.packets->lines();
    const std::size_t at = controller.state.place().selected;
    if (at >= lines.size()) return controller.say("there is no packet yet");
    const std::uint64_t frame = lines[at].frame;
    controller.state.details = controller.state.packets->details(controller.feed, frame);
    controller.state.details_frame = frame;
    if (controller.state.details.empty()) return controller.complain(fmt::format("packet {} is no longer kept", frame));
    controller.open_text(Overlay::details, controller.state.details.size());
    // What is looked at stays where it is.
    controller.held[static_cast<std::size_t>(View::packets)] = true;
    controller.say_who_follows();
}

void spread(Controller& controller) { controller.state.spread = !controller.state.spread; }

void back(Controller& controller) {
    if (controller.state.view == View::flow) {
        if (controller.state.spread) return spread(controller);
        return controller.go_to(controller.state.back);
    }
    if (controller.state.view == View::packets && !controller.state.packet_filter_text.empty()) {
        static_cast<void>(controller.apply_packet_filter(""));  // an empty filter cannot fail
        return controller.say("all packets");
    }
    if (controller.state.view != View::flows) return controller.go_to(View::flows);
    if (controller.state.filter_text.empty()) return controller.say("q quits, ? lists the keys");
    static_cast<void>(controller.apply_filter(""));  // an empty filter cannot fail
    controller.say("all flows");
}

void next_view(Controller& controller) { by(controller, 1); }
void previous_view(Controller& controller) { by(controller, -1); }

void opposite(Controller& controller) {
    const metrics::FlowSnapshot* flow = controller.state.flow_total();
    if (flow == nullptr) flow = controller.state.flow_interval();
    if (flow == nullptr) return controller.complain("this flow is no longer there");
    if (!flow->reverse) return controller.complain("the opposite direction was not seen, or not recognised");
    controller.open_flow(*flow->reverse);
}

/// About what is on the screen: the window, as long as the flow passed something in it.
void answers(Controller& controller) {
    if (controller.state.reading == nullptr) return controller.say("there are no figures yet");
    const auto id = controller.selected_flow();
    const metrics::Snapshot* shown = controller.state.shown();
    if (id && shown->flow(*id) == nullptr) shown = &controller.state.reading->total;
    if (id && shown->flow(*id) == nullptr) return controller.complain("this flow is no longer there");
    static const NoNames no_names;
    const metrics::HostNames& names = controller.state.names != nullptr ? *controller.state.names : no_names;
    controller.state.answers = metrics::answer(*shown, names, id ? &*id : nullptr);
    controller.open_text(Overlay::answers, controller.state.answers.size());
    controller.say(
        fmt::format("{}, {}", id ? "about this flow" : "about all flows",
                    shown == &controller.state.reading->total ? "since the beginning" : "in the last interval"));
}

void follow(Controller& controller) {
    bool& held = controller.held[static_cast<std::size_t>(controller.state.view)];
    held = !held;
    controller.count_rows();
    controller.say(held ? "stays" : "follows the newest");
}

}  // namespace tui::model::look
