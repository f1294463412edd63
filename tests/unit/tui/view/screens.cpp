#include "tests/unit/tui/view/screens.h"

#include <cstdlib>

namespace tui {

namespace {

/// Clocks on the screen are local ones; those of the tests are where UTC holds.
const dissect::FieldRegistry& registry() {
    static const dissect::FieldRegistry made;
    setenv("TZ", "UTC", 1);
    return made;
}

support::FakeFeed described(support::FakeFeed feed) {
    feed.state.kind = SourceKind::live;
    feed.state.name = "eth0";
    feed.state.health = FeedStatus::Health::good;
    feed.state.begin_ns = begin_ns;
    return feed;
}

/// All that the flows carry, where a test does not say what the capture saw.
void count_capture(metrics::Snapshot& snapshot) {
    if (snapshot.capture.packets > 0) return;
    for (const metrics::FlowSnapshot& flow : snapshot.flows) {
        snapshot.capture.packets += flow.packets;
        snapshot.capture.rdma_units += flow.packets;
        snapshot.capture.bytes += flow.wire_bytes;
    }
}

std::shared_ptr<Reading> reading_of(std::uint64_t serial, metrics::Snapshot total, metrics::Snapshot interval) {
    auto reading = std::make_shared<Reading>();
    reading->serial = serial;
    reading->start_ns = begin_ns + static_cast<std::int64_t>(serial - 1) * second_ns;
    reading->length_ns = second_ns;
    reading->total = std::move(total);
    reading->interval = std::move(interval);
    return reading;
}

}  // namespace

Screen::Screen(support::FakeFeed source, Settings settings, const metrics::HostNames* names)
    : feed(std::move(source)), model(std::move(settings), feed, names, registry()) {}

void Screen::show(std::size_t readings) {
    while (feed.shown < readings && feed.next()) model.refresh(feed.state.now_ns);
    model.refresh(feed.state.now_ns);
}

void Screen::type(std::string_view text) {
    while (!text.empty()) model.press(key(take_character(text)));
}

Picture Screen::draw(int width, int height, const Letters& letters) const {
    Picture picture{Grid(width, height), {}};
    picture.drawn = tui::draw(model.state(), letters, picture.grid);
    return picture;
}

support::FakeFeed feed_of(metrics::Snapshot snapshot, std::uint64_t length_ns) {
    support::FakeFeed feed;
    count_capture(snapshot);
    auto reading = reading_of(1, snapshot, snapshot);
    reading->length_ns = length_ns;
    feed.readings.push_back(std::move(reading));
    return described(std::move(feed));
}

support::FakeFeed feed_of(const std::vector<metrics::Snapshot>& intervals) {
    support::FakeFeed feed;
    metrics::Snapshot total;
    for (metrics::Snapshot interval : intervals) {
        count_capture(interval);
        metrics::merge(total, interval);
        feed.readings.push_back(reading_of(feed.readings.size() + 1, total, interval));
    }
    return described(std::move(feed));
}

metrics::Address ipv4(unsigned a, unsigned b, unsigned c, unsigned d) {
    metrics::Address address;
    address.family = wire::AddressFamily::ipv4;
    const std::array<unsigned, 4> octets{a, b, c, d};
    for (std::size_t i = 0; i < octets.size(); ++i) address.octets[i] = static_cast<std::uint8_t>(octets[i]);
    return address;
}

metrics::Address ipv6(std::initializer_list<std::uint16_t> groups) {
    metrics::Address address;
    address.family = wire::AddressFamily::ipv6;
    std::size_t at = 0;
    for (const std::uint16_t group : groups) {
        address.octets[at++] = static_cast<std::uint8_t>(group >> 8);
        address.octets[at++] = static_cast<std::uint8_t>(group & 0xff);
    }
    return address;
}

metrics::FlowSnapshot write_flow(std::uint64_t id, metrics::Address from, metrics::Address to, std::uint64_t writes) {
    constexpr std::uint64_t size = 4096;
    constexpr std::uint64_t packets_each = 4;
    constexpr std::uint64_t headers = 14 + 20 + 8 + 12 + 4;
    metrics::FlowSnapshot flow;
    flow.id = id;
    flow.transport = wire::Transport::roce2;
    flow.service = metrics::Service::rc;
    flow.source = {from, static_cast<std::uint32_t>(0x100 + id), {}};
    flow.destination = {to, static_cast<std::uint32_t>(0x1100 + id), {}};
    flow.first_ns = begin_ns;
    flow.last_ns = begin_ns + second_ns;
    flow.packets = writes * packets_each;
    flow.wire_bytes = writes * (size + packets_each * headers + 16);
    flow.payload_bytes = writes * size;
    flow.retransmitted_packets = 0;
    auto& write = flow.operations[metrics::index_of(metrics::Operation::write)];
    write.count = writes;
    write.bytes = writes * size;
    write.latency_ns.record(9'000, writes - writes / 50);
    write.latency_ns.record(21'000, writes / 50);
    flow.message_bytes.record(size, writes);
    flow.messages_mean = 1.5;
    flow.messages_max = 8;
    flow.state_ns[metrics::index_of(metrics::State::transmit_new)] = 300'000'000;
    flow.state_ns[metrics::index_of(metrics::State::ack_window)] = 500'000'000;
    flow.state_ns[metrics::index_of(metrics::State::application_idle)] = 200'000'000;
    return flow;
}

metrics::Snapshot many_flows(std::size_t flows) {
    using metrics::State;
    metrics::Snapshot snapshot;
    for (std::size_t i = 0; i < flows; ++i) {
        const std::uint64_t id = i + 1;
        const auto client = static_cast<unsigned>(i % 16);
        const auto server = static_cast<unsigned>(i % 4);
        metrics::FlowSnapshot flow =
            write_flow(id, ipv4(192, 0, 2, 1 + client), ipv4(198, 51, 100, 1 + server), 100 + 7 * (i * 37 % 1000));
        if (i % 50 == 49) {
            flow.retransmitted_packets = 12;
            flow.state_ns[metrics::index_of(State::transmit_again)] = 200'000'000;
            flow.state_ns[metrics::index_of(State::application_idle)] = 0;
        }
        if (i % 77 == 76) flow.naks[0] = 3;
        if (i % 90 == 89) flow.ecn_capable_packets = flow.packets, flow.ecn_ce_packets = 40, flow.cnp_packets = 5;
        snapshot.capture.packets += flow.packets;
        snapshot.capture.bytes += flow.wire_bytes;
        snapshot.capture.rdma_units += flow.packets;
        snapshot.flows.push_back(std::move(flow));
    }
    snapshot.capture.kernel_dropped = 0;
    snapshot.capture.first_ns = begin_ns;
    snapshot.capture.last_ns = begin_ns + second_ns;
    snapshot.capture.flows_seen = flows;
    return snapshot;
}

}  // namespace tui
