#include <algorithm>
#include <gtest/gtest.h>

#include "tests/model/model_analysis.h"
#include "tests/model/scenarios.h"

/// Frames in any order, at any time, in any number, and more flows than there is room for.
namespace {

using namespace model;
using metrics::FlowSnapshot;
using metrics::Snapshot;

void expect_sums(const Snapshot& snapshot) {
    for (const FlowSnapshot& flow : snapshot.flows) {
        ASSERT_GE(flow.last_ns, flow.first_ns);
        EXPECT_EQ(sum(flow.state_ns), flow.wall_ns()) << flow.id;
    }
}

template <class T>
void shuffle(std::vector<T>& values, Random& random) {
    for (std::size_t i = values.size(); i-- > 1;) std::swap(values[i], values[random.below(i + 1)]);
}

class HostileTest : public testing::TestWithParam<Scenario> {
protected:
    void SetUp() override {
        Plan plan = GetParam().plan;
        for (Connection& connection : plan.connections) {
            connection.a.application.messages = std::min<std::uint64_t>(connection.a.application.messages, 100);
            connection.b.application.messages = std::min<std::uint64_t>(connection.b.application.messages, 100);
        }
        history_ = run(plan);
        frames_ = capture(history_, tap_at(0), false);
    }
    void expect(std::uint64_t packets) {
        const Snapshot snapshot = analyse(frames_, options_for(history_));
        EXPECT_EQ(snapshot.capture.packets, packets);
        expect_sums(snapshot);
    }
    History history_;
    Frames frames_;
    Random random_{99};
};

TEST_P(HostileTest, ShuffledWithTheirTimes) {
    shuffle(frames_, random_);
    expect(frames_.size());
}

TEST_P(HostileTest, ShuffledAtAscendingTimes) {
    Frames shuffled = frames_;
    shuffle(shuffled, random_);
    for (std::size_t i = 0; i < frames_.size(); ++i) shuffled[i].time_ns = frames_[i].time_ns;
    frames_ = std::move(shuffled);
    expect(frames_.size());
}

TEST_P(HostileTest, TimeRunsBackwards) {
    std::reverse(frames_.begin(), frames_.end());
    expect(frames_.size());
}

TEST_P(HostileTest, EveryFrameSeveralTimes) {
    Frames several;
    for (const support::KeptFrame& frame : frames_)
        for (std::uint64_t i = random_.below(4) + 1; i-- > 0;) several.push_back(frame);
    frames_ = std::move(several);
    expect(frames_.size());
}

TEST_P(HostileTest, HalfOfTheFrames) {
    std::erase_if(frames_, [&](const auto&) { return random_.below(2) == 0; });
    expect(frames_.size());
}

TEST_P(HostileTest, TimesFromAnywhere) {
    constexpr std::int64_t times[] = {INT64_MIN, INT64_MIN + 1, -1,        0,
                                      1,         INT64_MAX - 1, INT64_MAX, 1'700'000'000'000'000'000};
    for (support::KeptFrame& frame : frames_)
        if (random_.below(10) == 0) frame.time_ns = times[random_.below(std::size(times))];
    const Snapshot snapshot = analyse(frames_, options_for(history_));
    EXPECT_EQ(snapshot.capture.packets, frames_.size());
    for (const FlowSnapshot& flow : snapshot.flows) EXPECT_EQ(sum(flow.state_ns), flow.wall_ns()) << flow.id;
}

TEST_P(HostileTest, OctetsChanged) {
    for (support::KeptFrame& frame : frames_)
        for (std::uint64_t i = random_.below(3); i-- > 0;)
            frame.octets[random_.below(std::min<std::size_t>(frame.octets.size(), 80))] =
                static_cast<std::byte>(random_.below(256));
    expect(frames_.size());
}

TEST_P(HostileTest, PsnsFromAnywhere) {
    for (support::KeptFrame& frame : frames_)
        if (random_.below(5) == 0)
            base::store_be24(frame.octets.data() + 51, static_cast<std::uint32_t>(random_.below(1 << 24)));
    expect(frames_.size());
}

TEST_P(HostileTest, Cut) {
    for (support::KeptFrame& frame : frames_) frame.octets.resize(random_.below(frame.octets.size() + 1));
    expect(frames_.size());
}

INSTANTIATE_TEST_SUITE_P(Scenarios, HostileTest, testing::ValuesIn(scenarios()),
                         [](const auto& each) { return each.param.name; });

/// One packet each of `flows` flows between `pairs` pairs of hosts, in batches.
Snapshot many_flows(std::uint32_t flows, std::uint32_t pairs, const metrics::AnalyzerOptions& options,
                    std::uint32_t rounds = 1) {
    metrics::Analyzer analyzer(options);
    Packet packet;
    packet.opcode = opcode_of(metrics::Operation::write, 0, 1);
    packet.payload = packet.dma_length = 8;
    std::vector<support::KeptFrame> kept(256);
    std::vector<wire::Frame> frames(256);
    std::uint64_t number = 0;
    for (std::uint32_t round = 0; round < rounds; ++round)
        for (std::uint32_t flow = 0; flow < flows;) {
            std::size_t count = 0;
            for (; count < kept.size() && flow < flows; ++flow, ++count) {
                packet.source_host = flow % pairs * 2;
                packet.destination_host = packet.source_host + 1;
                packet.destination_qp = 0x100 + flow / pairs;
                packet.wire_psn = (flow * 7919 + round) & 0xffffff;
                kept[count] = emit(packet, Framing::roce2_ipv4,
                                   1'700'000'000'000'000'000 + static_cast<std::int64_t>(number) * 100, false);
                frames[count] = kept[count].frame(++number);
            }
            analyzer.feed({frames.data(), count});
        }
    analyzer.finish();
    return analyzer.snapshot();
}

metrics::AnalyzerOptions unchecked() {
    metrics::AnalyzerOptions options;
    options.dissector.parse.verify_crc = false;
    return options;
}

/// What an analyzer holds before its first flow: tables of a fixed size.
std::uint64_t held_by_none() { return many_flows(1, 1, unchecked()).memory_octets; }

TEST(Memory, IdleFlowsTakeLessThanAKibibyte) {
    constexpr std::uint32_t flows = 200'000;
    const Snapshot snapshot = many_flows(flows, 500, unchecked());
    EXPECT_EQ(snapshot.flows.size(), flows);
    EXPECT_LE(snapshot.memory_octets - held_by_none(), std::uint64_t{flows} * 1024);
}

TEST(Memory, BusyFlowsTakeLessThanFourKibibytes) {
    constexpr std::uint32_t flows = 20'000;
    const Snapshot snapshot = many_flows(flows, 100, unchecked(), 40);  // 40 messages outstanding on each
    EXPECT_EQ(snapshot.flows.size(), flows);
    EXPECT_LE(snapshot.memory_octets - held_by_none(), std::uint64_t{flows} * 4096);
    EXPECT_EQ(snapshot.flows.front().messages_max, 40u);
}

TEST(Memory, FlowsBeyondTheLimitAreEvictedAndCounted) {
    metrics::AnalyzerOptions options = unchecked();
    options.engine.max_flows = 1000;
    const Snapshot snapshot = many_flows(20'000, 100, options);
    EXPECT_LE(snapshot.flows.size(), 1000u);
    EXPECT_EQ(snapshot.capture.flows_seen, 20'000u);
    EXPECT_EQ(snapshot.capture.flows_evicted + snapshot.flows.size(), 20'000u);
    expect_sums(snapshot);
}

}  // namespace
