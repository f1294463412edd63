// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/wireshark/statistics.h"

#include <cstdio>
#include <cstdlib>
#include <fmt/core.h>
#include <string_view>

#include "plugins/wireshark/guard.h"
#include "plugins/wireshark/reports.h"
// After compat.h.
#include <wsutil/report_message.h>

namespace plugins::wireshark {

namespace {

/// A report as it is registered: Wireshark hands back a pointer to it.
struct Command {
    Report report;
    const char* option;
    const char* title;
    const char* menu;
    CurrentAnalysis current;
};

/// What a tap gets for a frame, in the memory of its dissection.
struct TappedFlows {
    std::size_t count;
    std::uint64_t ids[1];  ///< `count` of them
};

/// One `-z`.
struct Listener {
    const Command* command;
    bool filtered;
    FlowIds chosen;
};

/// Wireshark, unlike tshark, continues to capture while statistics are drawn.
bool may_go_on() {
    const funnel_ops_t* ops = funnel_get_funnel_ops();
    return ops != nullptr && ops->get_filter != nullptr;
}

void reset(void* data) { static_cast<Listener*>(data)->chosen.clear(); }

tap_packet_status take(void* data, packet_info*, epan_dissect_t*, const void* tapped, tap_flags_t) {
    guarded("statistics", [&] {
        const auto& flows = *static_cast<const TappedFlows*>(tapped);
        Listener& listener = *static_cast<Listener*>(data);
        if (listener.filtered) listener.chosen.insert(flows.ids, flows.ids + flows.count);
    });
    return TAP_PACKET_REDRAW;
}

void draw(void* data) {
    guarded("statistics", [&] {
        const Listener& listener = *static_cast<const Listener*>(data);
        Analysis* analysis = listener.command->current();
        if (analysis == nullptr) return;
        if (!may_go_on()) analysis->finish();
        const std::string text =
            text_of(listener.command->report, *analysis, listener.filtered ? &listener.chosen : nullptr);
        std::fwrite(text.data(), 1, text.size(), stdout);
    });
}

void remove(void* data) { delete static_cast<Listener*>(data); }

/// `-z rdma,flows` or `-z rdma,flows,FILTER`
void begin(const char* argument, void* data) {
    const Command& command = *static_cast<const Command*>(data);
    std::string_view filter = argument == nullptr ? "" : argument;
    filter.remove_prefix(std::min(filter.size(), std::string_view(command.option).size()));
    if (filter.starts_with(',')) filter.remove_prefix(1);
    auto* listener = new Listener{&command, !filter.empty(), {}};
    const std::string text(filter);
    GString* wrong = register_tap_listener("rdma", listener, text.empty() ? nullptr : text.c_str(), TL_REQUIRES_NOTHING,
                                           reset, take, draw, remove);
    if (wrong == nullptr) return;
    delete listener;
    report_failure("-z %s: %s", argument, wrong->str);
    g_string_free(wrong, TRUE);
    std::exit(1);  // as Wireshark's own statistics do
}

void open_window(void* data) {
    guarded("statistics", [&] {
        const Command& command = *static_cast<const Command*>(data);
        const funnel_ops_t* ops = funnel_get_funnel_ops();
        if (ops == nullptr || ops->new_text_window == nullptr) return;
        const Analysis* analysis = command.current();
        const std::string text =
            analysis == nullptr ? "No file is open.\n" : text_of(command.report, *analysis, nullptr);
        ops->set_text(ops->new_text_window(ops->ops_id, command.title), text.c_str());
    });
}

std::span<Command> commands(CurrentAnalysis current) {
    // No submenu: Wireshark makes one of a path with slashes in its menu Tools alone.
    static Command all[] = {
        {Report::flows, "rdma,flows", "RDMA flows", "RDMA Flows", current},
        {Report::why, "rdma,why", "Why RDMA is slow", "RDMA: Why Slow", current},
        {Report::srt, "rdma,srt", "RDMA response times", "RDMA Response Times", current},
        {Report::commands, "rdma,io", "Commands over RDMA", "RDMA Commands", current},
    };
    return all;
}

}  // namespace

void register_statistics_commands(CurrentAnalysis current) {
    for (Command& command : commands(current)) {
        stat_tap_ui ui{REGISTER_PACKET_STAT_GROUP_UNSORTED, command.title, command.option, begin, 0, nullptr};
        register_stat_tap_ui(&ui, &command);
    }
}

void register_statistics_menu(CurrentAnalysis current) {
    for (Command& command : commands(current))
        funnel_register_menu(command.menu, REGISTER_PACKET_STAT_GROUP_UNSORTED, open_window, &command, nullptr, FALSE);
}

void offer_to_taps(const Analysis& analysis, int tap, packet_info* pinfo) {
    if (!have_tap_listener(tap)) return;
    const auto notes = analysis.notes(pinfo->num);
    const std::size_t room = sizeof(TappedFlows) + notes.size() * sizeof(std::uint64_t);
    auto* tapped = static_cast<TappedFlows*>(wmem_alloc(pinfo->pool, room));
    tapped->count = notes.size();
    for (std::size_t i = 0; i < notes.size(); ++i) tapped->ids[i] = notes[i]->flow;
    tap_queue_packet(tap, pinfo, tapped);
}

}  // namespace plugins::wireshark
