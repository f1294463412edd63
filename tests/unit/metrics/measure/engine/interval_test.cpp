/// An analyzer that runs for months: its intervals show frames of their own, and it forgets what is over.
#include <gtest/gtest.h>
#include <tuple>

#include "metrics/measure/engine/analyzer.h"
#include "tests/support/captures.h"
#include "tests/support/pcaps.h"

namespace {

using namespace metrics;

constexpr std::int64_t never_idle = INT64_MIN;

struct Player {
    explicit Player(const char* name, const AnalyzerOptions& options = {}) : analyzer(options) {
        support::load_capture(support::pcaps() + "/" + name, SIZE_MAX, frames);
    }
    /// Frames [begin, end) of the capture, `later_ns` after they were taken.
    void play(std::size_t begin, std::size_t end, std::int64_t later_ns = 0) {
        for (std::size_t i = begin; i < end; ++i) {
            wire::Frame frame = frames[i].frame(++number);
            frame.time_ns += later_ns;
            analyzer.feed({&frame, 1});
        }
    }
    std::int64_t length_ns() const { return frames.back().time_ns - frames.front().time_ns; }

    std::vector<support::KeptFrame> frames;
    Analyzer analyzer;
    std::uint64_t number = 0;
};

TEST(Interval, ShowsFramesOfItsOwn) {
    Player player("rxe-rxdrop1pct-write-bw.pcap.gz");
    const std::size_t half = player.frames.size() / 2;
    player.play(0, half);
    const Snapshot first = player.analyzer.snapshot();
    EXPECT_EQ(player.analyzer.begin_interval(never_idle), 0u);
    player.play(half, player.frames.size());
    const Snapshot second = player.analyzer.snapshot();
    std::size_t shown = 0;
    for (const FlowSnapshot& flow : second.flows)
        for (const EventSummary& summary : flow.event_summaries) {
            const FlowSnapshot* const before = first.flow(flow.id);
            const EventSummary* const former = before == nullptr ? nullptr : before->find_event_summary(summary.kind);
            EXPECT_GE(summary.count, former == nullptr ? 0 : former->count);
            for (const std::uint64_t frame : summary.frames) EXPECT_GT(frame, half);
            if (summary.kind == EventKind::retransmission) shown += summary.frames.size();
        }
    EXPECT_GT(shown, 0u) << "the second half of this capture has retransmissions";
}

TEST(Interval, ChangesNoCount) {
    Player whole("rxe-rxdrop1pct-write-bw.pcap.gz");
    Player parts("rxe-rxdrop1pct-write-bw.pcap.gz");
    whole.play(0, whole.frames.size());
    for (std::size_t begin = 0; begin < parts.frames.size(); begin += 1000) {
        parts.play(begin, std::min(begin + 1000, parts.frames.size()));
        parts.analyzer.begin_interval(never_idle);
    }
    const Snapshot expected = whole.analyzer.snapshot();
    const Snapshot got = parts.analyzer.snapshot();
    ASSERT_EQ(got.flows.size(), expected.flows.size());
    for (std::size_t i = 0; i < got.flows.size(); ++i) {
        EXPECT_EQ(got.flows[i].packets, expected.flows[i].packets);
        EXPECT_EQ(got.flows[i].retransmitted_packets, expected.flows[i].retransmitted_packets);
        EXPECT_EQ(got.flows[i].state_ns, expected.flows[i].state_ns);
        for (const EventSummary& summary : expected.flows[i].event_summaries) {
            ASSERT_NE(got.flows[i].find_event_summary(summary.kind), nullptr);
            EXPECT_EQ(got.flows[i].find_event_summary(summary.kind)->count, summary.count);
        }
    }
}

/// What a time line shows of a flow.
auto figures_over_time(const FlowSnapshot& flow) {
    std::vector<std::uint64_t> latencies;
    for (const OperationFigures& operation : flow.operations) latencies.push_back(operation.latency_ns.count());
    return std::tuple(flow.packets, flow.wire_bytes, flow.messages_total(), flow.retransmitted_packets.value_or(0),
                      flow.naks, flow.rnr_naks, flow.ecn_ce_packets, flow.cnp_packets, flow.state_ns, flow.last_ns,
                      latencies);
}

/// changes() against the difference of two snapshots, after each piece of every capture.
TEST(Interval, ChangesAreDifferencesOfSnapshots) {
    constexpr std::size_t piece = 97;
    static const FlowSnapshot nothing;
    for (const support::KeptCapture& capture : support::load_captures(2000)) {
        SCOPED_TRACE(capture.name);
        Analyzer analyzer;
        Snapshot before;
        const auto compare = [&] {
            Snapshot now = analyzer.snapshot();
            const Snapshot expected = difference(before, now);
            const Snapshot got = analyzer.changes();
            for (const FlowSnapshot& flow : got.flows) {
                ASSERT_NE(expected.flow(flow.id), nullptr);
                EXPECT_EQ(figures_over_time(flow), figures_over_time(*expected.flow(flow.id))) << flow.id;
                EXPECT_DOUBLE_EQ(flow.messages_mean, expected.flow(flow.id)->messages_mean);
            }
            for (const FlowSnapshot& flow : expected.flows) {
                if (got.flow(flow.id) != nullptr) continue;
                EXPECT_EQ(flow.packets, 0u) << flow.id;
                EXPECT_EQ(flow.messages_total(), 0u) << flow.id;
            }
            ASSERT_EQ(got.pauses.size(), expected.pauses.size());
            for (std::size_t i = 0; i < got.pauses.size(); ++i) {
                EXPECT_EQ(got.pauses[i].pause_frames, expected.pauses[i].pause_frames);
                EXPECT_EQ(got.pauses[i].pfc_frames, expected.pauses[i].pfc_frames);
            }
            before = std::move(now);
        };
        std::uint64_t number = 0;
        for (const support::KeptFrame& kept : capture.frames) {
            const wire::Frame frame = kept.frame(++number);
            analyzer.feed({&frame, 1});
            if (number % piece == 0) compare();
        }
        analyzer.finish();
        compare();
        // Nothing has happened since.
        EXPECT_TRUE(analyzer.changes().flows.empty());
    }
}

TEST(Interval, ChangesOfFlowsThatTakeThePlaceOfOthers) {
    Player player("rxe-rping.pcap");
    const std::int64_t hour_ns = 3600ll * 1'000'000'000;
    const auto run = [&](std::int64_t later_ns) {
        player.play(0, player.frames.size(), later_ns);
        std::vector<std::pair<std::uint64_t, std::uint64_t>> packets;
        for (const FlowSnapshot& flow : player.analyzer.changes().flows)
            packets.emplace_back(flow.packets, flow.wire_bytes);
        player.analyzer.begin_interval(player.frames.back().time_ns + later_ns + 1);
        return packets;
    };
    const auto first = run(0);
    ASSERT_FALSE(first.empty());
    EXPECT_EQ(run(hour_ns), first);
}

TEST(Interval, ForgetsFlowsThatAreIdleInBothDirections) {
    for (const char* const name : {"rxe-rping.pcap", "siw-rping-crc.pcap"}) {
        SCOPED_TRACE(name);
        Player player(name);
        player.play(0, player.frames.size());
        const std::size_t flows = player.analyzer.snapshot().flows.size();
        ASSERT_GT(flows, 0u);
        EXPECT_EQ(player.analyzer.begin_interval(player.frames.front().time_ns), 0u) << "none is older";
        EXPECT_EQ(player.analyzer.begin_interval(player.frames.back().time_ns + 1), flows);
        EXPECT_TRUE(player.analyzer.snapshot().flows.empty());
        EXPECT_EQ(player.analyzer.snapshot().capture.flows_evicted, 0u) << "forgetting is no eviction";
    }
}

TEST(Interval, ForgetsHostsAndMeetsThemAnew) {
    Player player("rxe-rping.pcap");
    const std::int64_t hour_ns = 3600ll * 1'000'000'000;
    player.play(0, player.frames.size());
    const Snapshot first = player.analyzer.snapshot();
    ASSERT_FALSE(first.hosts.empty());
    player.analyzer.begin_interval(player.frames.front().time_ns);
    EXPECT_EQ(player.analyzer.snapshot().hosts.size(), first.hosts.size());
    player.analyzer.begin_interval(player.frames.back().time_ns + 1);
    EXPECT_TRUE(player.analyzer.snapshot().hosts.empty());
    player.play(0, player.frames.size(), hour_ns);
    const Snapshot again = player.analyzer.snapshot();
    ASSERT_EQ(again.hosts.size(), first.hosts.size());
    for (std::size_t i = 0; i < first.hosts.size(); ++i) {
        EXPECT_EQ(again.hosts[i].address, first.hosts[i].address);
        EXPECT_EQ(again.hosts[i].sent_wire_bytes, first.hosts[i].sent_wire_bytes);
        EXPECT_EQ(again.hosts[i].received_wire_bytes, first.hosts[i].received_wire_bytes);
        EXPECT_EQ(again.hosts[i].received_requests, first.hosts[i].received_requests);
    }
}

/// What is met again after it was forgotten is a new flow with the same figures, and holds no more memory.
TEST(Interval, MemoryDoesNotGrowOverThousandsOfRuns) {
    for (const char* const name : {"rxe-rping.pcap", "siw-rping-crc.pcap", "rxe-cm-reject.pcap"}) {
        SCOPED_TRACE(name);
        AnalyzerOptions options;
        options.engine.max_flows = 1024;
        Player player(name, options);
        const std::int64_t step_ns = player.length_ns() + 60'000'000'000;
        std::uint64_t packets = 0;
        std::uint64_t octets = 0;
        for (int round = 0; round < 2000; ++round) {
            player.play(0, player.frames.size(), round * step_ns);
            if (round == 0 || round == 1000 || round == 1999) {
                const Snapshot snapshot = player.analyzer.snapshot();
                std::uint64_t sum = 0;
                for (const FlowSnapshot& flow : snapshot.flows) sum += flow.packets;
                if (round == 0) packets = sum;
                EXPECT_EQ(sum, packets) << "round " << round;
                if (round == 1000) octets = snapshot.memory_octets;
                if (round == 1999) {
                    EXPECT_LE(snapshot.memory_octets, octets);
                }
            }
            player.analyzer.begin_interval(player.frames.back().time_ns + round * step_ns + 1);
        }
    }
}

}  // namespace
