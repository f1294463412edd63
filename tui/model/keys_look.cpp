// Keys that look at something: a view, a flow, a packet, why.
#include <algorithm>
#include <fmt/core.h>

#include "tui/model/key_row.h"

namespace tui::inline model::look {

namespace {

struct NoNames final : metrics::HostNames {
    std::string name(const metrics::Address& /*address*/) const override { return {}; }
};

/// Where Tab goes. The view of one flow is not part of the row of views, but Tab leads from it to a neighbour.
void by(Controller& controller, int step) {
    constexpr int tabs = view_count - 1;
    const View from = controller.state.view == View::flow ? controller.state.back : controller.state.view;
    controller.go_to(static_cast<View>((static_cast<int>(from) + step + tabs) % tabs));
}

/// The frames that the worst answer names; the picture replaces them with those of the answer in sight.
std::vector<std::uint64_t> frames_of_worst(const std::vector<metrics::Answer>& answers) {
    std::vector<std::uint64_t> frames;
    for (const metrics::Answer& answer : answers) {
        if (!answer.alarm) continue;
        for (const metrics::Evidence& evidence : answer.evidence)
            frames.insert(frames.end(), evidence.frames.begin(), evidence.frames.end());
        if (!frames.empty()) break;
    }
    std::sort(frames.begin(), frames.end());
    frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
    return frames;
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

void open_packet(Controller& controller) { controller.open_details(); }

void open_event(Controller& controller) {
    const auto& lines = controller.state.events.lines();
    const std::size_t at = controller.state.place().selected;
    if (at >= lines.size()) return controller.say("there is no event yet");
    if (lines[at].frames.empty()) return open_row(controller);
    controller.open_frame(lines[at].frames.front());
}

void packets(Controller& controller) {
    const bool of_flow = controller.state.view == View::flow;
    if (!of_flow) return controller.go_to(View::packets);
    controller.show_packets_of(controller.state.flow_id);
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
    if (controller.state.view == View::packets && controller.state.packets->stays()) {
        controller.rebuild_packets();
        return controller.go_to(View::events);
    }
    if (controller.state.view != View::flows) return controller.go_to(View::flows);
    if (controller.state.choice.only_problems) {
        controller.show_only_problems(false);
        return controller.say("all flows");
    }
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

/// From the selected row on, and from the first row again after the last.
void next_problem(Controller& controller) {
    const auto& lines = controller.state.list.lines();
    const std::size_t from = controller.state.places[static_cast<std::size_t>(View::flows)].selected;
    for (std::size_t step = 1; step <= lines.size(); ++step) {
        const std::size_t at = (from + step) % lines.size();
        if (lines[at].group || lines[at].problem == nullptr) continue;
        controller.select(View::flows, at);
        if (controller.state.view == View::flow) controller.open_flow(lines[at].id());
        return controller.say(lines[at].problem->cause);
    }
    controller.say("no flow has a problem");
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
    controller.evidence = frames_of_worst(controller.state.answers);
    controller.open_text(Overlay::answers, controller.state.answers.size());
    controller.say(
        fmt::format("{}, {}", id ? "about this flow" : "about all flows",
                    shown == &controller.state.reading->total ? "since the beginning" : "in the last interval"));
}

void follow(Controller& controller) {
    bool& held = controller.held[static_cast<std::size_t>(controller.state.view)];
    held = !held;
    // The newest are not among those around one frame.
    if (!held && controller.state.view == View::packets && controller.state.packets->stays())
        controller.rebuild_packets();
    controller.count_rows();
    controller.say(held ? "stays" : "follows the newest");
}

}  // namespace tui::model::look
