#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "exporters/prometheus/labels.h"
#include "exporters/prometheus/latency_buckets.h"
#include "exporters/prometheus/traffic_totals.h"
#include "tests/unit/exporters/flow_samples.h"

namespace exporters::prometheus {
namespace {

using exporters::test::ipv4;
using Labels = std::map<std::string, std::string>;

constexpr std::int64_t second = 1'000'000'000;

struct Names final : metrics::HostNames {
    std::map<metrics::Address, std::string> known;
    std::string name(const metrics::Address& address) const override {
        const auto found = known.find(address);
        return found == known.end() ? std::string{} : found->second;
    }
};

/// 10.x.y.z by number.
metrics::Address host(std::uint32_t number) {
    metrics::Address address;
    address.family = wire::AddressFamily::ipv4;
    address.octets = {10, static_cast<std::uint8_t>(number >> 16), static_cast<std::uint8_t>(number >> 8),
                      static_cast<std::uint8_t>(number)};
    return address;
}

metrics::FlowSnapshot flow_to(const metrics::Address& peer, std::uint64_t id, std::uint64_t wire_bytes) {
    metrics::FlowSnapshot flow;
    flow.id = id;
    flow.transport = wire::Transport::roce2;
    flow.source.address = ipv4(1);
    flow.destination.address = peer;
    flow.destination.qpn = 17;
    flow.retransmitted_packets = 0;
    flow.packets = 1;
    flow.wire_bytes = wire_bytes;
    return flow;
}

struct Bench {
    TrafficOptions options;
    TrafficTotals totals;
    Names names;
    std::int64_t now_ns = second;

    explicit Bench(std::size_t max_peers = 20) : options{max_peers, {"eth0", "eth1"}, true}, totals(options) {}

    /// An interval in which these flows had this traffic; what is known is the same.
    void add(std::vector<metrics::FlowSnapshot> flows, std::int64_t seconds = 1) {
        metrics::Snapshot difference;
        difference.capture.first_ns = now_ns;
        now_ns += seconds * second;
        difference.capture.last_ns = now_ns;
        difference.flows = std::move(flows);
        totals.add(difference, difference, names, {ipv4(1)});
    }

    std::size_t series() const {
        std::size_t count = 0;
        for (const auto& family : totals.families())
            for (const auto& metric : family.metric)
                count += family.type == ::prometheus::MetricType::Histogram ? metric.histogram.bucket.size() + 2 : 1;
        return count;
    }
    /// Every sample of a family with its labels.
    std::map<Labels, double> samples(const std::string& name) const {
        std::map<Labels, double> found;
        for (const auto& family : totals.families()) {
            if (family.name != name) continue;
            for (const auto& metric : family.metric) {
                Labels labels;
                for (const auto& label : metric.label) labels[label.name] = label.value;
                const double value =
                    family.type == ::prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value;
                EXPECT_TRUE(found.emplace(labels, value).second) << name << ": the same labels twice";
            }
        }
        return found;
    }
    double sum(const std::string& name, const Labels& having = {}) const {
        double total = 0;
        for (const auto& [labels, value] : samples(name)) {
            const bool fits = std::all_of(having.begin(), having.end(), [&labels = labels](const auto& wanted) {
                return labels.at(wanted.first) == wanted.second;
            });
            if (fits) total += value;
        }
        return total;
    }
    std::set<std::string> peers() const {
        std::set<std::string> found;
        for (const auto& [labels, value] : samples("rdma_wire_bytes_total")) found.insert(labels.at("peer"));
        return found;
    }
};

TEST(PrometheusTraffic, LabelsSayWhoSentToWhom) {
    Bench bench;
    auto out = flow_to(ipv4(2), 1, 100);
    out.traffic_class = 106;  // DSCP 26 with ECT(0)
    auto in = flow_to(ipv4(1), 2, 10);
    in.source.address = ipv4(2);
    in.interface = 1;
    auto past = flow_to(ipv4(4), 3, 1);
    past.source.address = ipv4(3);
    past.interface = 7;
    bench.add({out, in, past});
    const Labels transmit{{"interface", "eth0"},
                          {"transport", "roce2"},
                          {"direction", "transmit"},
                          {"traffic_class", "104"},
                          {"peer", "192.0.2.2"}};
    const Labels receive{{"interface", "eth1"},
                         {"transport", "roce2"},
                         {"direction", "receive"},
                         {"traffic_class", "0"},
                         {"peer", "192.0.2.2"}};
    const Labels forward{{"interface", "unknown"},
                         {"transport", "roce2"},
                         {"direction", "forward"},
                         {"traffic_class", "0"},
                         {"peer", "192.0.2.4"}};
    EXPECT_EQ(bench.samples("rdma_wire_bytes_total"),
              (std::map<Labels, double>{{transmit, 100}, {receive, 10}, {forward, 1}}));
}

TEST(PrometheusTraffic, PeersAreCalledByTheirNames) {
    Bench bench;
    bench.names.known = {
        {ipv4(2), "storage-3"}, {ipv4(3), "storage-3"}, {ipv4(4), "other"}, {ipv4(5), "\xff\xc3\xa9\n"}};
    bench.add({flow_to(ipv4(2), 1, 1), flow_to(ipv4(3), 2, 2), flow_to(ipv4(4), 3, 4), flow_to(ipv4(5), 4, 8)});
    EXPECT_EQ(bench.sum("rdma_wire_bytes_total", {{"peer", "storage-3"}}), 3);
    // Nobody may pass for the rest.
    EXPECT_EQ(bench.sum("rdma_wire_bytes_total", {{"peer", "192.0.2.4"}}), 4);
    EXPECT_EQ(bench.sum("rdma_wire_bytes_total", {{"peer", "?\xc3\xa9?"}}), 8);
}

TEST(PrometheusTraffic, WhatTheTrafficCannotTellHasNoSample) {
    Bench bench;
    bench.add({exporters::test::bare_tcp_flow()});
    EXPECT_TRUE(bench.samples("rdma_retransmitted_packets_total").empty());
    EXPECT_TRUE(bench.samples("rdma_naks_total").empty());
    EXPECT_TRUE(bench.samples("rdma_icrc_bad_packets_total").empty());
    EXPECT_TRUE(bench.samples("rdma_messages_total").empty());
    EXPECT_EQ(bench.samples("rdma_mpa_crc_bad_total").size(), 1u);
    Bench without;
    metrics::FlowSnapshot unprotected = exporters::test::bare_tcp_flow();
    unprotected.connection->mpa_crc = false;
    without.add({unprotected});
    EXPECT_TRUE(without.samples("rdma_mpa_crc_bad_total").empty());
    bench.options.crc_verified = false;
    TrafficTotals unverified(bench.options);
    metrics::Snapshot snapshot;
    snapshot.flows = {exporters::test::bare_tcp_flow()};
    unverified.add(snapshot, snapshot, bench.names, {});
    for (const auto& family : unverified.families()) EXPECT_NE(family.name, "rdma_mpa_crc_bad_total");
}

TEST(PrometheusTraffic, ASampleFlowGivesItsFigures) {
    Bench bench;
    bench.add({exporters::test::write_flow()});
    EXPECT_EQ(bench.sum("rdma_packets_total"), 100);
    EXPECT_EQ(bench.sum("rdma_messages_total", {{"op", "write"}}), 100);
    EXPECT_EQ(bench.samples("rdma_messages_total").size(), 1u);
    EXPECT_EQ(bench.sum("rdma_message_bytes_total"), 100'000);
    EXPECT_EQ(bench.sum("rdma_retransmitted_packets_total"), 3);
    EXPECT_EQ(bench.sum("rdma_naks_total", {{"code", "psn_sequence_error"}}), 2);
    EXPECT_EQ(bench.samples("rdma_naks_total").size(), 6u);
    EXPECT_EQ(bench.sum("rdma_rnr_naks_total"), 1);
    EXPECT_DOUBLE_EQ(bench.sum("rdma_flow_state_seconds_total", {{"state", "ack_window"}}), 0.75);
    EXPECT_DOUBLE_EQ(bench.sum("rdma_flow_state_seconds_total"), 1);
    // 2.5 messages for all of the interval.
    EXPECT_DOUBLE_EQ(bench.sum("rdma_outstanding_messages"), 2.5);
    EXPECT_EQ(bench.sum("rdma_queue_pairs"), 1);
}

/// What could not be read of a connection is not said to be outstanding, nor what nobody captured to be unanswered.
TEST(PrometheusTraffic, WhatCannotBeToldIsNotInGauges) {
    auto flow = exporters::test::write_flow();
    flow.tcp.emplace();
    flow.tcp->connection_bytes = 1000;
    flow.tcp->unread_bytes = 20;
    Bench bench;
    bench.add({flow});
    EXPECT_DOUBLE_EQ(bench.sum("rdma_outstanding_messages"), 2.5);
    flow.tcp->unread_bytes = 21;
    bench.add({flow});
    EXPECT_EQ(bench.sum("rdma_outstanding_messages"), 0);
    EXPECT_EQ(bench.sum("rdma_outstanding_bytes"), 0);
    EXPECT_EQ(bench.sum("rdma_queue_pairs"), 1);
}

TEST(PrometheusTraffic, CountersAddUpAndGaugesDoNot) {
    Bench bench;
    for (int i = 0; i < 3; ++i) bench.add({exporters::test::write_flow()});
    EXPECT_EQ(bench.sum("rdma_packets_total"), 300);
    EXPECT_DOUBLE_EQ(bench.sum("rdma_outstanding_messages"), 2.5);
    bench.add({});
    EXPECT_EQ(bench.sum("rdma_packets_total"), 300);
    EXPECT_EQ(bench.sum("rdma_outstanding_messages"), 0);
    EXPECT_EQ(bench.sum("rdma_queue_pairs"), 0);
    auto half = exporters::test::write_flow();
    half.last_ns = half.first_ns + second / 2;  // of an interval of one second
    bench.add({half});
    EXPECT_DOUBLE_EQ(bench.sum("rdma_outstanding_messages"), 1.25);
    auto finished = exporters::test::write_flow();
    finished.finished = true;
    bench.add({finished});
    EXPECT_EQ(bench.sum("rdma_queue_pairs"), 0);
}

TEST(PrometheusTraffic, LatencyGoesIntoBucketsOfPowersOfTwoSeconds) {
    // 1 us is above 2^-20 s (953.67 ns); 2^-10 s is 976562.5 ns. All but the two at the bound are far from any.
    metrics::Histogram samples;
    for (const std::uint64_t ns : {500u, 1'000u, 900'000u, 1'100'000u}) samples.record(ns);
    samples.record(20 * static_cast<std::uint64_t>(second));
    LatencyBuckets buckets;
    buckets.add(samples);
    EXPECT_EQ(buckets.counts[0], 1u);                       // up to 2^-20
    EXPECT_EQ(buckets.counts[1], 1u);                       // 2^-19
    EXPECT_EQ(buckets.counts[10], 1u);                      // 2^-10
    EXPECT_EQ(buckets.counts[11], 1u);                      // 2^-9
    EXPECT_EQ(buckets.counts[LatencyBuckets::bounds], 1u);  // beyond 16 s
    EXPECT_EQ(buckets.count, 5u);
    EXPECT_EQ(buckets.sum_ns, 20'002'001'500u);
    // No value that is more than 0.8 % away from a bound is on its wrong side.
    for (std::size_t i = 0; i < LatencyBuckets::bounds; ++i) {
        const double bound_ns = LatencyBuckets::bound_seconds(i) * 1e9;
        const auto place = [](double ns) {
            return LatencyBuckets::place_of(metrics::HistogramBuckets::index_of(static_cast<std::uint64_t>(ns)));
        };
        EXPECT_EQ(place(bound_ns / 1.008 - 1), i) << i;
        EXPECT_EQ(place(bound_ns * 1.008 + 1), i + 1) << i;
    }
}

TEST(PrometheusTraffic, TheBusiestPeersHaveSeriesAndKeepThem) {
    Bench bench(2);
    bench.add({flow_to(host(1), 1, 100), flow_to(host(2), 2, 1000), flow_to(host(3), 3, 500)});
    EXPECT_EQ(bench.peers(), (std::set<std::string>{"10.0.0.2", "10.0.0.3", "other"}));
    EXPECT_EQ(bench.sum("rdmascope_peers_truncated"), 1);
    // Somewhat more traffic of another is no reason.
    for (int i = 0; i < 1000; ++i)
        bench.add({flow_to(host(1), 1, 1500), flow_to(host(2), 2, 1000), flow_to(host(3), 3, 500)});
    EXPECT_EQ(bench.peers(), (std::set<std::string>{"10.0.0.2", "10.0.0.3", "other"}));
    EXPECT_EQ(bench.sum("rdma_wire_bytes_total", {{"peer", "10.0.0.3"}}), 500 * 1001);
    EXPECT_EQ(bench.sum("rdma_wire_bytes_total", {{"peer", "other"}}), 100 + 1500 * 1000);
    EXPECT_EQ(bench.sum("rdma_wire_bytes_total"), (100 + 1000 + 500) + 1000 * 3000.0);
}

TEST(PrometheusTraffic, APeerThatIsOutweighedGivesWayAndOtherOnlyGrows) {
    Bench bench(1);
    bench.add({flow_to(host(1), 1, 100)});
    double rest = 0;
    bool replaced = false;
    for (int i = 0; i < 3600 && !replaced; ++i) {
        bench.add({flow_to(host(1), 1, 100), flow_to(host(2), 2, 1'000'000)});
        replaced = bench.peers().contains("10.0.0.2");
        const double now = bench.sum("rdma_wire_bytes_total", {{"peer", "other"}});
        EXPECT_GE(now, rest);
        // What the former peer had moved is history: in `other` it would look like a burst.
        EXPECT_LE(now - rest, 1'000'100);
        rest = now;
        if (replaced) {
            EXPECT_GE(i, 299);
        }
    }
    EXPECT_TRUE(replaced);
    // It begins again, as Prometheus expects of a counter that starts.
    EXPECT_EQ(bench.sum("rdma_wire_bytes_total", {{"peer", "10.0.0.2"}}), 1'000'000);
    EXPECT_FALSE(bench.peers().contains("10.0.0.1"));
}

TEST(PrometheusTraffic, APeerThatIsSilentForLongGivesWayToAnybody) {
    Bench bench(1);
    bench.add({flow_to(host(1), 1, 1'000'000'000)});
    bench.add({flow_to(host(2), 2, 10)}, 1700);
    EXPECT_TRUE(bench.peers().contains("10.0.0.1"));
    bench.add({flow_to(host(2), 2, 10)}, 200);
    EXPECT_EQ(bench.peers(), (std::set<std::string>{"10.0.0.2", "other"}));
}

TEST(PrometheusTraffic, AClockThatIsSetBackDisturbsNothing) {
    Bench bench(1);
    bench.now_ns = 1000 * second;
    bench.add({flow_to(host(1), 1, 100)});
    bench.now_ns = second;
    bench.add({flow_to(host(1), 1, 100), flow_to(host(2), 2, 100)});
    EXPECT_EQ(bench.sum("rdma_wire_bytes_total", {{"peer", "10.0.0.1"}}), 200);
}

TEST(PrometheusTraffic, FewerPlacesEndSeries) {
    Bench bench(3);
    bench.add({flow_to(host(1), 1, 100), flow_to(host(2), 2, 1000), flow_to(host(3), 3, 500)});
    bench.options.max_peers = 1;
    bench.totals.set_options(bench.options);
    bench.add({flow_to(host(1), 1, 100), flow_to(host(2), 2, 1000), flow_to(host(3), 3, 500)});
    EXPECT_EQ(bench.peers(), (std::set<std::string>{"10.0.0.2", "other"}));
    bench.options.max_peers = 0;
    bench.totals.set_options(bench.options);
    bench.add({flow_to(host(2), 2, 1000)});
    EXPECT_EQ(bench.peers(), (std::set<std::string>{"other"}));
}

/// A flow with every operation, every label different from its neighbours': the most series that one can make.
metrics::FlowSnapshot hostile_flow(std::uint32_t number) {
    auto flow = flow_to(host(number), number + 1, 1 + number % 7);
    constexpr std::array transports{wire::Transport::roce2, wire::Transport::roce1, wire::Transport::infiniband,
                                    wire::Transport::iwarp};
    flow.transport = transports[number % 4];
    flow.traffic_class = static_cast<std::uint8_t>(number);
    flow.interface = number % 1000;
    flow.duplicate_packets = flow.reordered_packets = flow.missing_packets = 1;
    if (flow.transport == wire::Transport::iwarp) flow.tcp.emplace();
    if (number % 3 == 1) std::swap(flow.source, flow.destination);
    if (number % 3 == 2) flow.source.address = host(number + 500'000);
    for (auto& operation : flow.operations) {
        operation.count = 1;
        operation.latency_ns.record(1000);
    }
    return flow;
}

TEST(PrometheusTraffic, AHundredThousandPeersStayWithinTheBound) {
    Bench bench;
    bench.options.interfaces.clear();
    for (int i = 0; i < 1000; ++i) bench.options.interfaces.push_back("vf" + std::to_string(i));
    bench.totals.set_options(bench.options);
    double bytes = 0;
    for (std::uint32_t round = 0; round < 4; ++round) {
        std::vector<metrics::FlowSnapshot> flows;
        for (std::uint32_t i = 0; i < 25'000; ++i) flows.push_back(hostile_flow(round * 25'000 + i));
        for (const auto& flow : flows) bytes += static_cast<double>(flow.wire_bytes);
        bench.add(std::move(flows));
        EXPECT_LE(bench.series(), series_bound(bench.options));
    }
    // Nothing is lost by it.
    EXPECT_EQ(bench.sum("rdma_wire_bytes_total"), bytes);
    EXPECT_GE(bench.sum("rdmascope_peers_truncated"), 24'980);
    EXPECT_LE(bench.peers().size(), 21u);
    EXPECT_GT(bench.sum("rdmascope_label_sets_truncated"), 0);
    // The manual's figure: docs/prometheus.md, "Bounds".
    EXPECT_LT(series_bound(bench.options), 70'000u);
}

/// An NVMe host with ten reads, one of them with an error of the device, and two flushes.
metrics::FlowSnapshot nvme_to(const metrics::Address& peer, std::uint64_t id) {
    metrics::FlowSnapshot flow = flow_to(peer, id, 1000);
    metrics::CommandConnectionFigures& commands = flow.commands.emplace();
    commands.protocol = "nvme";
    commands.limit = 32;
    commands.open_now = 2;
    commands.queue = 1;
    commands.at_limit_ns = 250'000'000;
    commands.unbound_operations = 3;
    metrics::CommandKindFigures& reads = commands.kinds.emplace_back();
    reads.kind = "read";
    reads.commands = 10;
    reads.errors = 1;
    reads.error_classes[0] = 1;
    reads.moved_in_bytes = 40'960;
    reads.latency_ns.record(1'000'000, 10);
    reads.parts_ns[1].record(750'000, 10);
    reads.parts_ns[2].record(250'000, 10);
    reads.repair_behind_ns = 500'000;
    metrics::CommandKindFigures& flushes = commands.kinds.emplace_back();
    flushes.kind = "flush";
    flushes.commands = 2;
    flushes.latency_ns.record(2'000'000, 2);
    flushes.parts_ns[1].record(2'000'000, 2);
    return flow;
}

TEST(PrometheusCommands, CountByProtocolPeerAndClass) {
    Bench bench;
    bench.add({nvme_to(ipv4(2), 1)});
    bench.add({nvme_to(ipv4(2), 1)});
    const Labels reads{{"protocol", "nvme"}, {"peer", "192.0.2.2"}, {"kind", "read"}};
    EXPECT_EQ(bench.sum("rdmascope_io_commands_total", reads), 20);
    EXPECT_EQ(bench.sum("rdmascope_io_commands_total", {{"kind", "read"}, {"result", "ok"}}), 18);
    EXPECT_EQ(bench.sum("rdmascope_io_commands_total", {{"kind", "read"}, {"result", "device"}}), 2);
    EXPECT_EQ(bench.sum("rdmascope_io_commands_total", {{"kind", "flush"}}), 4);
    EXPECT_EQ(bench.sum("rdmascope_io_bytes_total", {{"direction", "in"}}), 81'920);
    EXPECT_NEAR(bench.sum("rdmascope_io_repair_seconds_total", {{"whose", "others"}}), 0.001, 1e-12);
    EXPECT_EQ(bench.sum("rdmascope_io_open"), 2);
    EXPECT_EQ(bench.sum("rdmascope_io_limit"), 32);
    EXPECT_EQ(bench.sum("rdmascope_io_at_limit_seconds_total"), 0.5);
    EXPECT_EQ(bench.sum("rdmascope_io_unbound_operations_total"), 6);
    EXPECT_EQ(bench.sum("rdmascope_io_unanswered"), 0);
    // The parts are the latency.
    double seconds = 0;
    for (const auto& family : bench.totals.families()) {
        if (family.name != "rdmascope_io_seconds") continue;
        for (const auto& metric : family.metric) seconds += metric.histogram.sample_sum;
    }
    EXPECT_NEAR(seconds, 0.028, 1e-9);
    EXPECT_NEAR(bench.sum("rdmascope_io_part_seconds_total"), seconds, 1e-9);
}

TEST(PrometheusCommands, SeriesOfAClassBeginAtZero) {
    Bench bench;
    metrics::FlowSnapshot flow = nvme_to(ipv4(2), 1);
    metrics::CommandKindFigures& reads = flow.commands->kinds[0];
    reads.errors = 0;
    reads.error_classes[0] = 0;
    bench.add({flow});
    const auto values_of = [&](std::string_view name, std::string_view label, std::string_view kind) {
        std::map<std::string, double> values;
        for (const auto& [labels, value] : bench.samples(std::string(name)))
            if (labels.at("kind") == kind) values[labels.at(std::string(label))] = value;
        return values;
    };
    using Values = std::map<std::string, double>;
    const Values no_error{{"ok", 10},     {"device", 0}, {"path", 0},  {"protocol", 0},
                          {"aborted", 0}, {"busy", 0},   {"denied", 0}};
    EXPECT_EQ(values_of("rdmascope_io_commands_total", "result", "read"), no_error);
    EXPECT_EQ(values_of("rdmascope_io_bytes_total", "direction", "read"), (Values{{"in", 40'960}, {"out", 0}}));
    EXPECT_EQ(values_of("rdmascope_io_repair_seconds_total", "whose", "flush"), (Values{{"own", 0}, {"others", 0}}));
    EXPECT_EQ(values_of("rdmascope_io_part_seconds_total", "part", "flush").size(), metrics::command_part_count);
    // Classes without a command have no series.
    EXPECT_EQ(bench.samples("rdmascope_io_commands_total").size(), 2 * no_error.size());
}

TEST(PrometheusCommands, WaitForAnAnswer) {
    Bench bench;
    metrics::FlowSnapshot flow = nvme_to(ipv4(2), 1);
    flow.commands->open_now = 5;
    bench.add({flow}, 1);
    EXPECT_EQ(bench.sum("rdmascope_io_unanswered"), 0);
    flow.commands->open_long = 3;
    bench.add({flow}, 1);
    EXPECT_EQ(bench.sum("rdmascope_io_unanswered"), 3);
    flow.commands->open_long = 0;
    bench.add({flow}, 1);
    EXPECT_EQ(bench.sum("rdmascope_io_unanswered"), 0);
}

TEST(PrometheusCommands, OfManyPeersStayWithinTheBound) {
    Bench bench;
    std::vector<metrics::FlowSnapshot> flows;
    for (std::uint32_t i = 0; i < 1000; ++i) flows.push_back(nvme_to(host(i + 1), i + 1));
    bench.add(flows);
    EXPECT_EQ(bench.sum("rdmascope_io_commands_total"), 12'000);
    std::set<std::string> peers;
    for (const auto& [labels, value] : bench.samples("rdmascope_io_open")) peers.insert(labels.at("peer"));
    EXPECT_LE(peers.size(), 29u);
    EXPECT_TRUE(peers.contains("other"));
    EXPECT_LE(bench.series(), series_bound(bench.options));
}

TEST(PrometheusTraffic, MissingPacketsCountOnceTheyStayMissingForASecond) {
    Bench bench;
    auto flow = flow_to(ipv4(2), 1, 100);
    const auto look = [&](std::uint64_t missing, std::int64_t seconds) {
        flow.missing_packets = missing;
        bench.add({flow}, seconds);
        return bench.sum("rdma_missing_packets_total");
    };
    EXPECT_EQ(look(5, 1), 0);
    EXPECT_EQ(look(5, 0), 0);
    EXPECT_EQ(look(3, 1), 3);  // two were merely late
    EXPECT_EQ(look(0, 1), 3);  // a counter cannot go back
    EXPECT_EQ(look(4, 1), 3);
    EXPECT_EQ(look(4, 1), 4);
    bench.now_ns = 0;
    EXPECT_EQ(look(9, 1), 4);  // the clock was set back
    EXPECT_EQ(look(9, 1), 9);
}

TEST(PrometheusTraffic, PausesByPriorityAndInterface) {
    Bench bench;
    metrics::Snapshot snapshot;
    metrics::PauseSnapshot pause;
    pause.interface = 1;
    pause.pause_frames = 2;
    pause.resume_frames = 3;
    pause.priority_frames[3] = 5;
    pause.priority_quanta[3] = 500;
    snapshot.pauses = {pause};
    bench.totals.add(snapshot, snapshot, bench.names, {});
    bench.totals.add(snapshot, snapshot, bench.names, {});
    EXPECT_EQ(bench.sum("rdma_pause_frames_total", {{"interface", "eth1"}, {"priority", "3"}}), 10);
    EXPECT_EQ(bench.sum("rdma_pause_frames_total", {{"interface", "eth1"}, {"priority", "global"}}), 4);
    EXPECT_EQ(bench.sum("rdma_pause_frames_total"), 14);
    EXPECT_EQ(bench.sum("rdma_pause_quanta_total"), 1000);
    EXPECT_EQ(bench.sum("rdma_pause_resume_frames_total"), 6);
}

TEST(PrometheusTraffic, PausesHoldForSecondsWhereTheLinksRateIsKnown) {
    Bench bench;
    metrics::Snapshot snapshot;
    metrics::PauseSnapshot pause;
    pause.pause_frames = 1;
    pause.priority_frames[3] = 1;
    snapshot.pauses = {pause};
    bench.totals.add(snapshot, snapshot, bench.names, {});
    for (const auto& family : bench.totals.families()) EXPECT_NE(family.name, "rdma_pause_seconds_total");
    snapshot.pauses[0].stopped_ns = {250'000'000, {0, 0, 0, 500'000'000, 0, 0, 0, 0}};
    bench.totals.add(snapshot, snapshot, bench.names, {});
    bench.totals.add(snapshot, snapshot, bench.names, {});
    EXPECT_EQ(bench.sum("rdma_pause_seconds_total", {{"interface", "eth0"}, {"priority", "3"}}), 1);
    EXPECT_EQ(bench.sum("rdma_pause_seconds_total", {{"interface", "eth0"}, {"priority", "global"}}), 0.5);
    EXPECT_EQ(bench.sum("rdma_pause_seconds_total"), 1.5);
    snapshot.pauses[0].stopped_ns.reset();  // it is not known any more: what was counted stays
    bench.totals.add(snapshot, snapshot, bench.names, {});
    EXPECT_EQ(bench.sum("rdma_pause_seconds_total"), 1.5);
}

TEST(PrometheusTraffic, AttemptsCountOnceByTheirOutcome) {
    Bench bench;
    using metrics::AttemptOutcome;
    const auto look = [&](AttemptOutcome outcome, std::int64_t now_s, bool changed, bool known = true) {
        metrics::Snapshot now;
        now.capture.last_ns = now_s * second;
        metrics::ConnectionAttempt attempt;
        attempt.transport = wire::Transport::iwarp;
        attempt.request_frame = 5;
        attempt.request_ns = 100 * second;
        attempt.outcome = outcome;
        if (known) now.attempts = {attempt};
        metrics::Snapshot difference = now;
        if (!changed) difference.attempts.clear();
        bench.totals.add(difference, now, bench.names, {});
        return std::pair(bench.sum("rdma_connection_attempts_total", {{"outcome", "unanswered"}}),
                         bench.sum("rdma_connection_attempts_total", {{"outcome", "rejected"}}));
    };
    EXPECT_EQ(look(AttemptOutcome::unanswered, 101, true), std::pair(0.0, 0.0));
    EXPECT_EQ(look(AttemptOutcome::unanswered, 109, false), std::pair(0.0, 0.0));
    EXPECT_TRUE(bench.samples("rdma_connection_attempts_total").empty());
    EXPECT_EQ(look(AttemptOutcome::unanswered, 110, false), std::pair(1.0, 0.0));
    // Each of the five outcomes of the transport begins at 0, so that rate() sees its first attempt.
    EXPECT_EQ(bench.samples("rdma_connection_attempts_total").size(), 5U);
    EXPECT_EQ(look(AttemptOutcome::unanswered, 130, false), std::pair(1.0, 0.0));
    EXPECT_EQ(look(AttemptOutcome::rejected, 131, true), std::pair(1.0, 0.0));  // it was given up already
    EXPECT_EQ(look(AttemptOutcome::unanswered, 101, true), std::pair(1.0, 0.0));
    EXPECT_EQ(look(AttemptOutcome::rejected, 102, true), std::pair(1.0, 1.0));
    EXPECT_EQ(look(AttemptOutcome::unanswered, 101, true), std::pair(1.0, 1.0));
    EXPECT_EQ(look(AttemptOutcome::unknown, 200, false, false), std::pair(1.0, 1.0));  // flows came of it
}

/// Bytes 300 and 100: (300 + 100)^2 / (300^2 + 100^2) = 1.6 equal entropies, and 300 is 1.5 times the mean.
TEST(PrometheusTraffic, PathsAreThoseOfTheBusiestPairWithAPeer) {
    Bench bench(1);
    const auto flow = [](const metrics::Address& peer, std::uint64_t id, std::uint16_t port, std::uint64_t bytes) {
        metrics::FlowSnapshot made = flow_to(peer, id, bytes);
        made.entropy = metrics::Entropy::of_udp(port);
        return made;
    };
    metrics::FlowSnapshot lossy = flow(host(7), 1, 50'000, 300);
    lossy.path.emplace().loss_episodes = 2;
    metrics::FlowSnapshot lesser = flow(host(7), 3, 50'002, 10);
    lesser.traffic_class = 104;
    // The other peer has no place.
    const std::vector<metrics::FlowSnapshot> flows{lossy, flow(host(7), 2, 50'001, 100), lesser,
                                                   flow(host(8), 4, 50'003, 1)};
    bench.add(flows);
    const Labels peer{{"transport", "roce2"}, {"direction", "transmit"}, {"peer", "10.0.0.7"}};
    using Samples = std::map<Labels, double>;
    EXPECT_EQ(bench.samples("rdma_path_entropies"), (Samples{{peer, 2}}));
    EXPECT_EQ(bench.samples("rdma_path_effective_entropies"), (Samples{{peer, 1.6}}));
    EXPECT_EQ(bench.samples("rdma_path_busiest_ratio"), (Samples{{peer, 1.5}}));
    EXPECT_EQ(bench.samples("rdma_path_loss_episodes_total"), (Samples{{peer, 2}}));
    bench.add(flows);
    EXPECT_EQ(bench.samples("rdma_path_loss_episodes_total"), (Samples{{peer, 4}}));
    bench.add({});
    EXPECT_TRUE(bench.samples("rdma_path_entropies").empty());
    EXPECT_EQ(bench.samples("rdma_path_loss_episodes_total"), (Samples{{peer, 4}}));
}

TEST(PrometheusLabels, AreAlwaysValidUtf8) {
    EXPECT_EQ(label_value("eth0"), "eth0");
    EXPECT_EQ(label_value("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    EXPECT_EQ(label_value("\xc0\xaf"), "??");            // overlong
    EXPECT_EQ(label_value("\xed\xa0\x80"), "???");       // surrogate
    EXPECT_EQ(label_value("\xf4\x90\x80\x80"), "????");  // beyond U+10FFFF
    EXPECT_EQ(label_value("a\xe2\x82"), "a??");          // cut short
    EXPECT_EQ(label_value("other"), "other?");
    EXPECT_EQ(label_value(std::string(500, 'x')).size(), 128u);
    EXPECT_EQ(label_value(std::string(127, 'x') + "\xc3\xa9"), std::string(127, 'x'));
}

}  // namespace
}  // namespace exporters::prometheus
