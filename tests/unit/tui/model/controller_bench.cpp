#include "controller_bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tui::test {

metrics::Address host(unsigned number) {
    metrics::Address address;
    address.family = wire::AddressFamily::ipv4;
    address.octets[0] = 10;
    address.octets[3] = static_cast<std::uint8_t>(number);
    return address;
}

metrics::FlowSnapshot writes(std::uint64_t id, unsigned from, unsigned to, std::uint64_t messages,
                             std::int64_t first_ns) {
    metrics::FlowSnapshot flow;
    flow.id = id;
    flow.source.address = host(from);
    flow.destination.address = host(to);
    flow.destination.qpn = static_cast<std::uint32_t>(0x100 + id);
    flow.first_ns = first_ns;
    flow.last_ns = first_ns + second;
    flow.packets = messages;
    flow.wire_bytes = messages * 1060;
    flow.payload_bytes = messages * 1000;
    flow.retransmitted_packets = 0;
    auto& figures = flow.operations[metrics::index_of(metrics::Operation::write)];
    figures.count = messages;
    figures.bytes = messages * 1000;
    if (messages > 0) figures.latency_ns.record(10'000, messages);
    flow.messages_mean = 1;
    flow.messages_max = 4;
    flow.state_ns[metrics::index_of(metrics::State::application_idle)] = second;
    return flow;
}

std::shared_ptr<Reading> reading_of(std::uint64_t serial, std::vector<metrics::FlowSnapshot> total,
                                    std::vector<metrics::FlowSnapshot> interval) {
    auto reading = std::make_shared<Reading>();
    reading->serial = serial;
    reading->start_ns = static_cast<std::int64_t>(serial - 1) * second;
    reading->length_ns = static_cast<std::uint64_t>(second);
    reading->total.flows = std::move(total);
    reading->interval.flows = std::move(interval);
    return reading;
}

std::shared_ptr<Reading> reading_of(std::uint64_t serial, std::vector<metrics::FlowSnapshot> flows) {
    auto same = flows;
    return reading_of(serial, std::move(flows), std::move(same));
}

const dissect::FieldRegistry& frame_fields() {
    static const dissect::FieldRegistry fields;
    return fields;
}

namespace {
support::FakeFeed feed_of(std::vector<ReadingPtr> readings) {
    support::FakeFeed feed;
    feed.readings = std::move(readings);
    feed.state.health = FeedStatus::Health::good;
    feed.state.name = "eth0";
    return feed;
}
}  // namespace

Bench::Bench(support::FakeFeed source, Settings settings, const metrics::HostNames* names)
    : feed(std::move(source)), model(std::move(settings), feed, names, frame_fields()) {}
Bench::Bench(std::vector<ReadingPtr> readings, Settings settings, const metrics::HostNames* names)
    : Bench(feed_of(std::move(readings)), std::move(settings), names) {}

void Bench::next() {
    feed.next();
    model.refresh(0);
}
void Bench::all() {
    feed.show_all();
    model.refresh(0);
}

Bench& Bench::press(std::string_view keys) {
    while (!keys.empty()) {
        const std::size_t end = std::min(keys.find(' '), keys.size());
        for (const Key& key : keys_named(keys.substr(0, end))) model.press(key);
        keys.remove_prefix(std::min(end + 1, keys.size()));
    }
    return *this;
}

Bench& Bench::type(std::u32string_view text) {
    for (const char32_t character : text) model.press(key(character));
    return *this;
}

void Bench::draw(std::size_t page, std::vector<Hit> hits, std::size_t overlay_rows) {
    model.drawn({std::move(hits), page, page, overlay_rows});
}

std::vector<std::uint64_t> Bench::ids() const {
    std::vector<std::uint64_t> ids;
    for (const FlowLine& line : state().list.lines()) ids.push_back(line.group ? 0 : line.id());
    return ids;
}

std::vector<Request::Kind> Bench::requests() {
    std::vector<Request::Kind> kinds;
    for (const Request& request : model.take_requests()) kinds.push_back(request.kind);
    return kinds;
}

std::string fingerprint(const ModelState& state) {
    const Settings& s = state.settings;
    std::string text =
        fmt::format("{}|{}|{}|{}|{}|{}|{}|{}\n", fmt::join(s.columns, ","), s.sort, static_cast<int>(s.grouping),
                    static_cast<int>(s.window), s.theme, s.interval_ns, s.names, state.names != nullptr);
    text += fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}\n", static_cast<int>(state.view), static_cast<int>(state.back),
                        static_cast<int>(state.overlay), state.frozen, state.spread, state.chart, state.flow_id,
                        state.follow_packets, state.follow_events);
    for (const Place& place : state.places) text += fmt::format("{}/{}/{} ", place.selected, place.top, place.count);
    text += fmt::format("\n{}/{}|{}|{}|{}\n", state.overlay_place.selected, state.overlay_place.top, state.prompt.text,
                        state.prompt.cursor, state.prompt.error);
    text += fmt::format("{}|{}|{}|{}\n", fmt::join(state.menu.items, ","), state.menu.place.selected, state.menu.typed,
                        state.menu.chosen.size());
    text += fmt::format("{}|{}|{}|{}\n", state.filter_text, state.packet_filter_text, state.details_frame,
                        state.answers.size());
    text += fmt::format("{}|{}|{}\n", fmt::join(state.choice.pinned, ","), fmt::join(state.choice.folded, ","),
                        static_cast<int>(state.choice.window));
    for (const FlowLine& line : state.list.lines()) text += fmt::format("{}{} ", line.group ? "g" : "", line.id());
    return text;
}

}  // namespace tui::test
