/// What two taps have captured counts as what one of them has: thousands of frames are on their way between them.
#include <algorithm>
#include <gtest/gtest.h>

#include "tests/model/bulk.h"
#include "tests/model/model_analysis.h"
#include "tests/model/scenarios.h"

namespace {

using namespace model;
using metrics::FlowSnapshot;
using metrics::Snapshot;

/// A frame at one of the taps. Those of the second are numbered after all of the first's, so that ids are the same.
struct Tapped {
    const support::KeptFrame* kept = nullptr;
    std::uint64_t number = 0;
    std::int64_t time_ns = 0;
    std::uint32_t interface = 0;
};

void add(std::vector<Tapped>& all, const Frames& frames, std::uint32_t interface, std::int64_t later_ns) {
    for (std::size_t i = 0; i < frames.size(); ++i)
        all.push_back({&frames[i], all.size() + 1, frames[i].time_ns + later_ns, interface});
}

Snapshot analyse_merged(std::vector<Tapped> all, metrics::AnalyzerOptions options) {
    std::stable_sort(all.begin(), all.end(),
                     [](const Tapped& one, const Tapped& other) { return one.time_ns < other.time_ns; });
    std::vector<wire::Frame> frames;
    for (const Tapped& each : all) {
        wire::Frame frame = each.kept->frame(each.number);
        frame.time_ns = each.time_ns;
        frame.interface = each.interface;
        frames.push_back(frame);
    }
    options.dissector.parse.verify_crc = false;
    metrics::Analyzer analyzer(options);
    analyzer.expect_interfaces(2);
    constexpr std::size_t batch = 256;
    const std::span<const wire::Frame> rest(frames);
    for (std::size_t i = 0; i < rest.size(); i += batch)
        analyzer.feed(rest.subspan(i, std::min(batch, rest.size() - i)), true);
    analyzer.finish();
    return analyzer.snapshot();
}

/// Everything but what is of the capture itself.
std::string figures_of(Snapshot snapshot) {
    const std::uint64_t units = snapshot.capture.rdma_units;
    snapshot.capture = {};
    snapshot.capture.rdma_units = units;
    return text_of(snapshot);
}

/// The second tap sees all of it later, in both directions: a mirror port far away, or a clock that is ahead.
TEST(TwoTaps, TheLaterOneChangesNothing) {
    for (const char* kind : {"roce-1k", "roce-64", "iwarp-64", "iwarp-1420"}) {
        BulkTraffic traffic(*bulk_kind(kind), 4, 16, false);
        Frames frames;
        for (unsigned i = 0; i < 30'000; ++i) frames.push_back(traffic.next());
        metrics::AnalyzerOptions options;
        const Snapshot one = analyse(frames, options);
        const std::string expected = figures_of(one);
        // A frame each 100 ns: 10, 1000, 8000 and 20,000 of them.
        for (const std::int64_t later_ns : {1'000, 100'000, 800'000, 2'000'000}) {
            std::vector<Tapped> all;
            add(all, frames, 0, 0);
            add(all, frames, 1, later_ns);
            for (options.threads = 1; options.threads <= 2; ++options.threads) {
                const Snapshot two = analyse_merged(all, options);
                EXPECT_EQ(two.capture.packets, 60'000u);
                EXPECT_EQ(two.capture.seen_twice, 30'000u);
                EXPECT_EQ(figures_of(two), expected) << kind << ' ' << later_ns;
            }
            options.threads = 1;
        }
    }
}

class TwoTapsTest : public testing::TestWithParam<std::string> {};

/// One tap at each host, their clocks apart. What was lost between them has passed the sender's.
TEST_P(TwoTapsTest, CountEachPacketOnce) {
    const History history = run(scenario(GetParam()).plan);
    const Frames at_a = capture(history, tap_at(0), false);
    const Frames at_b = capture(history, tap_at(1), false);
    const std::vector<Figures> truth[2] = {figures(history, tap_at(0)), figures(history, tap_at(1))};
    for (const std::int64_t ahead_ns : {std::int64_t{0}, std::int64_t{2'000'000}, std::int64_t{-2'000'000}}) {
        std::vector<Tapped> all;
        add(all, at_a, 0, 0);
        add(all, at_b, 1, ahead_ns);
        const Snapshot snapshot = analyse_merged(all, options_for(history));
        std::uint64_t packets = 0;
        for (std::uint32_t side = 0; side < history.sides.size(); ++side) {
            const Figures& sent = truth[history.end(side).host][side];
            if (sent.packets == 0) continue;
            const FlowSnapshot* flow = flow_of(snapshot, history, side);
            ASSERT_NE(flow, nullptr);
            // A lost packet that comes 2 ms after all that followed it may be taken for another queue pair's.
            std::uint64_t passed = 0;
            for (const FlowSnapshot& each : snapshot.flows)
                if (each.source.address == flow->source.address) passed += each.packets;
            EXPECT_EQ(passed, sent.packets) << side << ' ' << ahead_ns;
            packets += sent.packets;
            // With losses, what a flow is made of comes in the order of its sender's tap only where that is first.
            const bool as_sent = ahead_ns >= 0 && history.end(side).host == 0;
            if (!history.lost.empty() && !as_sent) continue;
            EXPECT_EQ(flow->packets, sent.packets) << side << ' ' << ahead_ns;
            EXPECT_EQ(flow->wire_bytes, sent.wire_bytes) << side << ' ' << ahead_ns;
            EXPECT_EQ(flow->payload_bytes, sent.payload_bytes) << side << ' ' << ahead_ns;
            EXPECT_EQ(flow->retransmitted_packets.value_or(0), sent.retransmitted_packets) << side << ' ' << ahead_ns;
            EXPECT_EQ(flow->duplicate_packets.value_or(0), sent.duplicate_packets) << side << ' ' << ahead_ns;
            EXPECT_EQ(flow->missing_packets.value_or(0), sent.missing_packets) << side << ' ' << ahead_ns;
            EXPECT_EQ(flow->timeouts, history.sides[side].timeouts) << side << ' ' << ahead_ns;
            for (std::size_t i = 0; i < metrics::operation_count; ++i)
                EXPECT_EQ(flow->operations[i].count, sent.operations[i].count) << side << ' ' << ahead_ns;
        }
        EXPECT_EQ(snapshot.capture.seen_twice, at_a.size() + at_b.size() - packets) << ahead_ns;
    }
}
INSTANTIATE_TEST_SUITE_P(Scenarios, TwoTapsTest,
                         testing::Values("window", "deep_window", "request_reply", "reads", "mix", "loss_behind",
                                         "nak_wait", "timeouts"),
                         [](const auto& each) { return each.param; });

}  // namespace
