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
void by(Workings& w, int step) {
    constexpr int tabs = view_count - 1;
    const View from = w.state.view == View::flow ? w.state.back : w.state.view;
    w.go_to(static_cast<View>((static_cast<int>(from) + step + tabs) % tabs));
}

}  // namespace

void open_row(Workings& w) {
    const FlowLine* line = w.state.view == View::flows ? w.selected_line() : nullptr;
    if (line != nullptr && line->group) return choose::turn_fold(w);
    if (const auto id = w.selected_flow()) return w.open_flow(*id);
    w.say(w.state.view == View::events ? "this event is not of one flow" : "there is no flow yet");
}

void open_host(Workings& w) {
    const std::size_t at = w.state.place().selected;
    if (at >= w.state.hosts.size()) return w.say("there is no host yet");
    const std::string address = metrics::to_text(w.state.hosts[at]->address);
    std::string error;
    w.apply_filter(fmt::format(R"(source.address == "{0}" || destination.address == "{0}")", address), error);
    w.go_to(View::flows);
    w.say("the flows of this host; Escape shows all again");
}

void open_packet(Workings& w) {
    const auto& lines = w.state.packets->lines();
    const std::size_t at = w.state.place().selected;
    if (at >= lines.size()) return w.say("there is no packet yet");
    const std::uint64_t frame = lines[at].frame;
    w.state.details = w.state.packets->details(w.feed, frame);
    w.state.details_frame = frame;
    if (w.state.details.empty()) return w.complain(fmt::format("packet {} is no longer kept", frame));
    w.open_text(Overlay::details, w.state.details.size());
    // What is looked at stays where it is.
    w.held[static_cast<std::size_t>(View::packets)] = true;
    w.say_who_follows();
}

void spread(Workings& w) { w.state.spread = !w.state.spread; }

void back(Workings& w) {
    if (w.state.view == View::flow) {
        if (w.state.spread) return spread(w);
        return w.go_to(w.state.back);
    }
    std::string error;
    if (w.state.view == View::packets && !w.state.packet_filter_text.empty()) {
        w.apply_packet_filter("", error);
        return w.say("all packets");
    }
    if (w.state.view != View::flows) return w.go_to(View::flows);
    if (w.state.filter_text.empty()) return w.say("q quits, ? lists the keys");
    w.apply_filter("", error);
    w.say("all flows");
}

void next_view(Workings& w) { by(w, 1); }
void previous_view(Workings& w) { by(w, -1); }

void opposite(Workings& w) {
    const metrics::FlowSnapshot* flow = w.state.flow_total();
    if (flow == nullptr) flow = w.state.flow_interval();
    if (flow == nullptr) return w.complain("this flow is no longer there");
    if (!flow->reverse) return w.complain("the opposite direction was not seen, or not recognised");
    w.open_flow(*flow->reverse);
}

/// About what is on the screen: the window, as long as the flow passed something in it.
void answers(Workings& w) {
    if (w.state.reading == nullptr) return w.say("there are no figures yet");
    const auto id = w.selected_flow();
    const metrics::Snapshot* shown = w.state.shown();
    if (id && shown->flow(*id) == nullptr) shown = &w.state.reading->total;
    if (id && shown->flow(*id) == nullptr) return w.complain("this flow is no longer there");
    static const NoNames no_names;
    const metrics::HostNames& names = w.state.names != nullptr ? *w.state.names : no_names;
    w.state.answers = metrics::answer(*shown, names, id ? &*id : nullptr);
    w.open_text(Overlay::answers, w.state.answers.size());
    w.say(fmt::format("{}, {}", id ? "about this flow" : "about all flows",
                      shown == &w.state.reading->total ? "since the beginning" : "in the last interval"));
}

void follow(Workings& w) {
    bool& held = w.held[static_cast<std::size_t>(w.state.view)];
    held = !held;
    w.count_rows();
    w.say(held ? "stays" : "follows the newest");
}

}  // namespace tui::model::look
