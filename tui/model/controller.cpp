#include "tui/model/controller.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace tui::inline model {

namespace {

constexpr std::size_t index_of_view(View view) { return static_cast<std::size_t>(view); }

std::uint64_t traffic(const metrics::HostSnapshot& host) { return host.sent_wire_bytes + host.received_wire_bytes; }

std::vector<const metrics::HostSnapshot*> busiest_hosts(const metrics::Snapshot& snapshot) {
    std::vector<const metrics::HostSnapshot*> hosts;
    for (const metrics::HostSnapshot& host : snapshot.hosts) hosts.push_back(&host);
    std::stable_sort(hosts.begin(), hosts.end(),
                     [](const auto* a, const auto* b) { return traffic(*a) > traffic(*b); });
    return hosts;
}

/// How congested a flow is: signals first, then the time that it was slowed down.
auto congestion_of(const metrics::FlowSnapshot& flow) {
    return std::pair(flow.ecn_ce_packets + flow.cnp_packets,
                     flow.state_ns[metrics::index_of(metrics::State::congestion_paced)]);
}

/// Also those in folded groups.
std::vector<const metrics::FlowSnapshot*> congested_flows(const metrics::Snapshot& snapshot,
                                                          const exporters::Context& context,
                                                          exporters::filter::FlowFilter& filter) {
    std::vector<const metrics::FlowSnapshot*> flows;
    for (const metrics::FlowSnapshot& flow : snapshot.flows)
        if (congestion_of(flow) > std::pair<std::uint64_t, std::uint64_t>{} && filter.matches({flow, context}))
            flows.push_back(&flow);
    std::sort(flows.begin(), flows.end(), [](const auto* a, const auto* b) {
        const auto left = congestion_of(*a);
        const auto right = congestion_of(*b);
        return left != right ? left > right : a->id < b->id;
    });
    return flows;
}

/// A comparison of the filter's language; empty where there is nothing to compare with.
std::string condition_on(std::string_view field, const std::string& value) {
    return value.empty() ? std::string{} : fmt::format("{} == {}", field, value);
}

std::string all_of(const std::vector<std::string>& conditions) {
    std::string text;
    for (const std::string& condition : conditions)
        if (!condition.empty()) text += (text.empty() ? "" : " && ") + condition;
    return text;
}

/// Packets from one end of a flow to the other.
std::string direction_filter(const metrics::Endpoint& from, const metrics::Endpoint& to) {
    const bool ipv6 = from.address.family == wire::AddressFamily::ipv6;
    const bool by_ip = ipv6 || from.address.family == wire::AddressFamily::ipv4;
    const auto address = [by_ip](const metrics::Endpoint& end) { return by_ip ? metrics::to_text(end.address) : ""; };
    const auto port = [](const metrics::Endpoint& end) { return end.port ? fmt::to_string(*end.port) : ""; };
    return all_of({condition_on(ipv6 ? "ipv6.src" : "ip.src", address(from)),
                   condition_on(ipv6 ? "ipv6.dst" : "ip.dst", address(to)), condition_on("tcp.srcport", port(from)),
                   condition_on("tcp.dstport", port(to)),
                   condition_on("infiniband.bth.destqp", to.qpn ? fmt::format("{:#x}", *to.qpn) : "")});
}

/// If nothing but the two hosts of a direction is known, a filter would show all packets between them.
bool is_told_apart(const metrics::Endpoint& from, const metrics::Endpoint& to) {
    return to.qpn || (from.port && to.port);
}

std::string packet_filter_of(const metrics::FlowSnapshot& flow) {
    std::string text;
    for (const auto& [from, to] :
         {std::pair(&flow.source, &flow.destination), std::pair(&flow.destination, &flow.source)})
        if (is_told_apart(*from, *to))
            text += fmt::format("{}({})", text.empty() ? "" : " || ", direction_filter(*from, *to));
    return text;
}

metrics::Address address_of(base::Bytes octets) {
    metrics::Address address;
    switch (octets.size()) {
        case 2: address.family = wire::AddressFamily::lid; break;
        case 4: address.family = wire::AddressFamily::ipv4; break;
        case 16: address.family = wire::AddressFamily::ipv6; break;
        default: return address;
    }
    std::memcpy(address.octets.data(), octets.data(), octets.size());
    return address;
}

}  // namespace

void settle(Place& place, std::size_t count, std::size_t page) {
    page = std::max<std::size_t>(page, 1);
    place.count = count;
    place.selected = std::min(place.selected, count == 0 ? 0 : count - 1);
    place.top = std::min(place.top, count > page ? count - page : 0);
    if (place.selected < place.top) place.top = place.selected;
    if (place.selected >= place.top + page) place.top = place.selected + 1 - page;
}

Controller::Controller(Settings settings, Feed& source, const metrics::HostNames* host_names,
                       const dissect::FieldRegistry& fields_of_frames)
    : feed(source), names(host_names), registry(fields_of_frames) {
    pages.fill(10);
    state.settings = std::move(settings);
    state.names = state.settings.names ? names : nullptr;
    state.columns = columns_of(state.settings.columns);
    state.choice.grouping = state.settings.grouping;
    state.choice.window = state.settings.window;
    state.packets = std::make_unique<PacketList>(registry, [this](std::string& text, base::Bytes octets) {
        const std::string name = state.names == nullptr ? "" : state.names->name(address_of(octets));
        text += name;
        return !name.empty();
    });
    state.feed = feed.status();
    const bool turned = state.settings.sort.starts_with('-');
    const std::string sort = state.settings.sort.substr(turned ? 1 : 0);
    if (column_named(sort)) {
        sort_by(sort, turned);
    } else {
        sort_by(std::string(usual_sort), false);
        state.settings.sort.clear();
    }
}

void Controller::say(std::string text) {
    state.message = std::move(text);
    state.message_is_error = false;
}
void Controller::complain(std::string text) {
    state.message = std::move(text);
    state.message_is_error = true;
}
void Controller::ask(Request::Kind kind) {
    const auto same = [kind](const Request& request) { return request.kind == kind; };
    if (kind == Request::Kind::settings && std::any_of(requests.begin(), requests.end(), same)) return;
    requests.push_back({kind});
}

/// What the selections are on, whatever row that is.
struct Controller::Anchor {
    std::uint64_t flow = 0;
    std::string group = {};
    metrics::Address host = {};
    std::uint64_t congested = 0;
    std::uint64_t commands_of = 0;  ///< the flow
    std::optional<std::string> command_kind = {};
    PathList::Key path = {};
};

Controller::Anchor Controller::anchor() const {
    Anchor anchor;
    if (const FlowLine* line = selected_line()) {
        if (line->group)
            anchor.group = *line->title;
        else
            anchor.flow = line->id();
    }
    const auto at = [this](View view) { return state.places[index_of_view(view)].selected; };
    if (at(View::hosts) < state.hosts.size()) anchor.host = state.hosts[at(View::hosts)]->address;
    if (at(View::congestion) < state.congested.size()) anchor.congested = state.congested[at(View::congestion)]->id;
    if (at(View::io) < state.commands.size()) {
        const CommandLine& line = state.commands[at(View::io)];
        anchor.commands_of = line.flow->id;
        if (line.kind != nullptr) anchor.command_kind = line.kind->kind;
    }
    anchor.path = state.paths.key(at(View::paths));
    return anchor;
}

void Controller::restore(const Anchor& anchor) {
    const auto find = [this](View view, const auto& list, auto is_it) {
        Place& place = state.places[index_of_view(view)];
        const auto found = std::find_if(list.begin(), list.end(), is_it);
        if (!held[index_of_view(view)])
            place.selected = 0;
        else if (found != list.end())
            place.selected = static_cast<std::size_t>(found - list.begin());
        if (!held[index_of_view(view)]) place.top = 0;
    };
    find(View::flows, state.list.lines(), [&](const FlowLine& line) {
        return line.group ? !anchor.group.empty() && *line.title == anchor.group
                          : anchor.group.empty() && line.id() == anchor.flow;
    });
    find(View::hosts, state.hosts, [&](const auto* host) { return host->address == anchor.host; });
    find(View::congestion, state.congested, [&](const auto* flow) { return flow->id == anchor.congested; });
    find(View::io, state.commands, [&](const CommandLine& line) {
        if (line.flow->id != anchor.commands_of) return false;
        return line.kind == nullptr ? !anchor.command_kind : anchor.command_kind == line.kind->kind;
    });
    if (const auto& lines = state.paths.lines(); !lines.empty())
        find(View::paths, lines, [&](const PathLine& line) { return PathList::key(line) == anchor.path; });
}

void Controller::rebuild() {
    const Anchor kept = anchor();
    state.list.build(state.reading, state.choice, filter, state.names);
    state.hosts.clear();
    state.congested.clear();
    state.commands.clear();
    if (const metrics::Snapshot* shown = state.shown()) {
        state.hosts = busiest_hosts(*shown);
        const exporters::Context context = context_of({}, state.choice.window, *state.reading, state.names);
        state.congested = congested_flows(*shown, context, filter);
        state.commands = command_lines(*shown, context, filter);
    }
    list_paths();
    restore(kept);
    count_rows();
}

/// A long way through many flows, so only where it is looked at.
void Controller::list_paths() {
    const metrics::Snapshot* const shown = state.view == View::paths ? state.shown() : nullptr;
    if (shown == nullptr) return;
    const exporters::Context context = context_of({}, state.choice.window, *state.reading, state.names);
    state.paths.build(*shown, context, filter);
}

void Controller::rebuild_packets() {
    // The filter was compiled before: it cannot fail.
    static_cast<void>(apply_packet_filter(state.packet_filter_text));
}

std::size_t Controller::rows(View view) const {
    switch (view) {
        case View::flows:
        case View::flow: return state.list.lines().size();
        case View::hosts: return state.hosts.size();
        case View::congestion: return state.congested.size();
        case View::events: return state.events.lines().size();
        case View::packets: return state.packets->lines().size();
        case View::counters: return state.reading == nullptr ? 0 : state.reading->counters.size();
        case View::io: return state.commands.size();
        case View::paths: return state.paths.lines().size();
    }
    return 0;
}

void Controller::count_rows() {
    for (std::size_t i = 0; i < view_count; ++i) {
        const auto view = static_cast<View>(i);
        const std::size_t count = rows(view);
        Place& place = state.places[i];
        const bool follows = (view == View::events || view == View::packets) && !held[i];
        if (follows && count > 0) place.selected = count - 1;
        // A long way through many flows, so only where it is looked at.
        if (view == View::flow && state.view == view)
            place.selected = state.list.find(state.flow_id).value_or(place.selected);
        settle(place, count, pages[i]);
    }
    say_who_follows();
}

void Controller::say_who_follows() {
    state.follow_packets = !held[index_of_view(View::packets)];
    state.follow_events = !held[index_of_view(View::events)];
}

void Controller::select(View view, std::size_t row) {
    const std::size_t count = rows(view);
    Place& place = state.places[index_of_view(view)];
    place.selected = row;
    settle(place, count, pages[index_of_view(view)]);
    const bool follows = view == View::events || view == View::packets;
    held[index_of_view(view)] = !(follows && place.selected + 1 >= count);
    say_who_follows();
}

void Controller::move(std::ptrdiff_t by) {
    const Place& place = state.place();
    if (place.count == 0) return;
    const auto last = static_cast<std::ptrdiff_t>(place.count) - 1;
    const auto at = std::clamp(static_cast<std::ptrdiff_t>(place.selected) + by, std::ptrdiff_t{0}, last);
    select(state.view, static_cast<std::size_t>(at));
}

void Controller::go_to(View view) {
    state.view = view;
    state.spread = false;
    if (view == View::packets && state.packets->advance(feed)) count_rows();
    if (view == View::paths) rebuild();
}

void Controller::open_flow(std::uint64_t id) {
    if (state.view != View::flow) state.back = state.view;
    state.view = View::flow;
    state.flow_id = id;
    follow_flow();
    count_rows();
}

void Controller::open_frame(std::uint64_t frame) {
    if (!feed.status().has_packets) return complain(fmt::format("{} has figures, not frames", state.feed.name));
    if (!state.packet_filter_text.empty()) static_cast<void>(apply_packet_filter(""));  // an empty one cannot fail
    const auto& lines = state.packets->lines();
    const auto place = [&] {
        return std::find_if(lines.begin(), lines.end(),
                            [frame](const PacketLine& line) { return line.frame >= frame; });
    };
    const auto has_line = [&] { return place() != lines.end() && place()->frame == frame; };
    if (!has_line()) {
        state.packets->read_around(frame);
        state.packets->advance(feed);
    }
    // A frame without RDMA, such as a TCP FIN, has fields but no line: the next line is selected.
    if (!show_details(frame)) return;
    state.view = View::packets;
    state.spread = false;
    if (!lines.empty())
        select(View::packets, std::min(static_cast<std::size_t>(place() - lines.begin()), lines.size() - 1));
    held[index_of_view(View::packets)] = true;
    count_rows();
    say_who_follows();
}

void Controller::open_details() {
    const auto& lines = state.packets->lines();
    const std::size_t at = state.places[index_of_view(View::packets)].selected;
    if (at >= lines.size()) return say("there is no packet yet");
    if (!show_details(lines[at].frame)) return;
    // What is looked at stays where it is.
    held[index_of_view(View::packets)] = true;
    say_who_follows();
}

bool Controller::show_details(std::uint64_t frame) {
    state.details = state.packets->details(feed, frame);
    state.details_frame = frame;
    if (state.details.empty()) {
        complain(fmt::format("packet {} is no longer kept", frame));
        return false;
    }
    close_overlay();
    open_text(Overlay::details, state.details.size());
    return true;
}

void Controller::show_packets_of(std::uint64_t id) {
    const metrics::FlowSnapshot* flow = state.reading == nullptr ? nullptr : state.reading->total.flow(id);
    if (flow == nullptr && state.reading != nullptr) flow = state.reading->interval.flow(id);
    go_to(View::packets);
    if (flow == nullptr) return;
    if (const auto applied = apply_packet_filter(packet_filter_of(*flow)); !applied)
        return complain(applied.error().text());
    say("the packets of this flow, both ways; Escape shows all");
}

void Controller::follow_flow() {
    if (state.view != View::flow) return;
    const metrics::FlowSnapshot* flow = state.flow_total();
    if (flow == nullptr) flow = state.flow_interval();
    if (flow == nullptr || state.trace.follows(*flow)) return;
    state.trace.follow(*flow);
    state.trace.advance(feed);
}

base::Result<void> Controller::apply_filter(const std::string& text) {
    auto made = exporters::filter::FlowFilter::compile(text);
    if (!made) return base::Failure{made.error()};
    filter = std::move(*made);
    state.filter_text = text;
    rebuild();
    return {};
}

base::Result<void> Controller::apply_packet_filter(const std::string& text) {
    if (auto made = state.packets->filter(text); !made) return made;
    state.packet_filter_text = text;
    held[index_of_view(View::packets)] = false;
    state.packets->advance(feed);
    count_rows();
    return {};
}

const FlowLine* Controller::selected_line() const {
    const auto& lines = state.list.lines();
    const std::size_t at = state.places[index_of_view(View::flows)].selected;
    return at < lines.size() ? &lines[at] : nullptr;
}

std::optional<std::uint64_t> Controller::selected_flow() const {
    const std::size_t at = state.place().selected;
    switch (state.view) {
        case View::flow: return state.flow_id;
        case View::flows: {
            const FlowLine* line = selected_line();
            if (line != nullptr && !line->group) return line->id();
            break;
        }
        case View::congestion:
            if (at < state.congested.size()) return state.congested[at]->id;
            break;
        case View::io:
            if (at < state.commands.size()) return state.commands[at].flow->id;
            break;
        case View::paths: return state.paths.flow(at);
        case View::events:
            if (at < state.events.lines().size() && state.events.lines()[at].flow != 0)
                return state.events.lines()[at].flow;
            break;
        case View::hosts:
        case View::packets:
        case View::counters: break;
    }
    return {};
}

}  // namespace tui::model
