// Beats and pulses: figures of an interval in few octets, within a bound of memory.
#include "tui/model/timeline.h"

#include <gtest/gtest.h>
#include <memory>
#include <numeric>

namespace tui {
namespace {

constexpr std::uint64_t second = 1'000'000'000;

metrics::FlowSnapshot flow_of(std::uint64_t id) {
    metrics::FlowSnapshot flow;
    flow.id = id;
    flow.operations[0].count = 1;
    flow.operations[0].bytes = 100;
    return flow;
}

Reading reading_of(std::uint64_t serial, std::size_t flows) {
    Reading reading;
    reading.serial = serial;
    reading.start_ns = static_cast<std::int64_t>(serial * second);
    reading.length_ns = second;
    for (std::size_t i = 1; i <= flows; ++i) reading.interval.flows.push_back(flow_of(i));
    return reading;
}

TEST(Timeline, a_beat_says_what_a_flow_did_in_the_interval) {
    Reading reading = reading_of(7, 1);
    reading.length_ns = second / 2;
    metrics::FlowSnapshot& flow = reading.interval.flows.front();
    flow.operations[3] = {3, 4'000, {}, {}};
    flow.operations[3].latency_ns.record(1);
    flow.operations[3].latency_ns.record(1023);
    flow.operations[3].latency_ns.record(1024, 5);
    flow.operations[5].latency_ns.record(2047, 70'000);
    flow.messages_mean = 2.5;
    flow.last_ns = 1;
    flow.messages_max = 9;
    flow.retransmitted_packets = 4;
    flow.naks[0] = 1;
    flow.naks[2] = 2;
    flow.rnr_naks = 3;
    flow.ecn_ce_packets = 11;
    flow.cnp_packets = 12;
    Timeline timeline;
    timeline.add(reading);
    const std::vector<Beat> beats = timeline.beats(1);
    ASSERT_EQ(beats.size(), 1u);
    const Beat& beat = beats.front();
    EXPECT_EQ(beat.start_ns, 7'000'000'000);
    EXPECT_EQ(beat.length_us, 500'000u);
    EXPECT_FLOAT_EQ(beat.goodput, 8'200);  // 100 + 4000 octets in half a second
    EXPECT_EQ(beat.messages, 4u);
    EXPECT_FLOAT_EQ(beat.outstanding_mean, 2.5F);
    EXPECT_EQ(beat.outstanding_max, 9u);
    EXPECT_EQ(beat.resent, 4u);
    EXPECT_EQ(beat.naks, 6u);
    EXPECT_EQ(beat.ce, 11u);
    EXPECT_EQ(beat.cnps, 12u);
    EXPECT_EQ(beat.latency[0], 1u);        // [1, 2) ns
    EXPECT_EQ(beat.latency[9], 1u);        // [512, 1024)
    EXPECT_EQ(beat.latency[10], 65'535u);  // [1024, 2048): stays at the greatest
    EXPECT_EQ(std::accumulate(beat.latency.begin(), beat.latency.end(), 0u), 65'537u);
}

TEST(Timeline, nothing_is_known_to_be_outstanding_where_no_time_passed) {
    Reading reading = reading_of(1, 1);
    reading.interval.flows.front().messages_mean = 2.5;  // of all its life: metrics::difference()
    Timeline timeline;
    timeline.add(reading);
    EXPECT_EQ(timeline.beats(1).front().outstanding_mean, 0);
}

TEST(Timeline, latencies_beyond_the_last_bin_are_in_it) {
    Reading reading = reading_of(1, 1);
    reading.interval.flows.front().operations[0].latency_ns.record(~std::uint64_t{0} >> 2, 3);
    Timeline timeline;
    timeline.add(reading);
    EXPECT_EQ(timeline.beats(1).front().latency.back(), 3u);
}

TEST(Timeline, shares_of_states_are_of_the_interval_by_largest_remainder) {
    Reading reading = reading_of(1, 1);
    reading.length_ns = 1000;
    auto& states = reading.interval.flows.front().state_ns;
    // A third each of the whole: 85 + 85 + 85 = 255.
    states[1] = states[2] = 333;
    states[3] = 334;
    Timeline timeline;
    timeline.add(reading);
    auto shares = timeline.beats(1).back().states;
    EXPECT_EQ(shares[1] + shares[2] + shares[3], 255);
    EXPECT_EQ(shares[3], 85);
    // Half of the interval: the flow began in its middle, or went silent.
    states = {};
    states[5] = 250;
    states[6] = 250;
    timeline.add(reading);
    shares = timeline.beats(1).back().states;
    EXPECT_EQ(shares[5] + shares[6], 128);  // 127.5, rounded
    // More than the interval: a silence that was named when it ended. Shares of the sum then.
    states = {};
    states[7] = 3000;
    states[8] = 1000;
    timeline.add(reading);
    shares = timeline.beats(1).back().states;
    EXPECT_EQ(shares[7], 191);  // 191.25
    EXPECT_EQ(shares[8], 64);   // 63.75
}

TEST(Timeline, a_pulse_sums_up_the_interval) {
    Reading reading = reading_of(3, 2);
    reading.interval.capture.packets = 10;
    reading.interval.capture.bytes = 1'000;
    reading.interval.capture.kernel_dropped = 5;
    reading.interval.flows[0].wire_bytes = 300;
    reading.interval.flows[1].wire_bytes = 500;
    reading.interval.flows[0].retransmitted_packets = 1;
    reading.interval.flows[1].naks[2] = 2;
    reading.interval.flows[1].rnr_naks = 1;
    reading.interval.flows[1].ecn_ce_packets = 3;
    reading.interval.flows[0].cnp_packets = 4;
    metrics::PauseSnapshot pause;
    pause.pause_frames = 1;
    pause.pfc_frames = 6;
    pause.priority_frames[3] = pause.priority_frames[4] = 6;
    reading.interval.pauses.push_back(pause);
    Timeline timeline;
    timeline.add(reading);
    const Pulse& pulse = timeline.pulses().back();
    EXPECT_EQ(pulse.packets, 10u);
    EXPECT_EQ(pulse.wire_bytes, 1'000u);
    EXPECT_EQ(pulse.rdma_bytes, 800u);
    EXPECT_EQ(pulse.message_bytes, 200u);
    EXPECT_EQ(pulse.messages, 2u);
    EXPECT_EQ(pulse.dropped, 5u);
    EXPECT_EQ(pulse.resent, 1u);
    EXPECT_EQ(pulse.naks, 3u);
    EXPECT_EQ(pulse.ce, 3u);
    EXPECT_EQ(pulse.cnps, 4u);
    EXPECT_EQ(pulse.pauses, 7u);
    EXPECT_EQ(pulse.active_flows, 2u);
}

TEST(Timeline, a_silent_interval_has_no_beat) {
    Timeline timeline;
    timeline.add(reading_of(1, 2));
    timeline.add(reading_of(2, 1));
    timeline.add(reading_of(3, 2));
    const std::vector<Beat> beats = timeline.beats(2);
    ASSERT_EQ(beats.size(), 2u);
    EXPECT_EQ(beats[0].start_ns, 1'000'000'000);
    EXPECT_EQ(beats[1].start_ns, 3'000'000'000);
    EXPECT_EQ(timeline.beats(1).size(), 3u);
    EXPECT_TRUE(timeline.beats(3).empty());
}

TEST(Timeline, a_jump_in_time_begins_anew) {
    Timeline timeline;
    timeline.add(reading_of(5, 1));
    Reading back = reading_of(2, 1);
    back.restarted = true;
    timeline.add(back);
    EXPECT_EQ(timeline.pulses().size(), 1u);
    ASSERT_EQ(timeline.beats(1).size(), 1u);
    EXPECT_EQ(timeline.beats(1).front().start_ns, 2'000'000'000);
}

TEST(Timeline, keeps_so_many_intervals_and_no_beat_older_than_they) {
    Timeline timeline(std::size_t{48} << 20, 100);
    timeline.add(reading_of(1, 2));
    for (std::uint64_t serial = 2; serial <= 250; ++serial) timeline.add(reading_of(serial, 1));
    EXPECT_EQ(timeline.pulses().size(), 100u);
    EXPECT_EQ(timeline.pulses().front().start_ns, 151'000'000'000);
    EXPECT_EQ(timeline.beats(1).size(), 100u);
    EXPECT_TRUE(timeline.beats(2).empty());
}

TEST(Timeline, the_oldest_beats_go_where_there_is_no_room) {
    constexpr std::size_t room = 1 << 20;
    Timeline timeline(room, 1000);
    std::size_t most = 0;
    for (std::uint64_t serial = 1; serial <= 400; ++serial) {
        timeline.add(reading_of(serial, 100));
        most = std::max(most, timeline.octets());
    }
    EXPECT_LE(most, room + 1000 * sizeof(Pulse));
    EXPECT_GT(most, room / 2);
    // All flows have the same share, and the newest is there.
    const std::size_t held = timeline.beats(1).size();
    EXPECT_GT(held, 20u);
    for (std::uint64_t id = 1; id <= 100; ++id) {
        const auto beats = timeline.beats(id);
        EXPECT_LE(beats.size(), held + 1);
        EXPECT_GE(beats.size() + 1, held);
        ASSERT_FALSE(beats.empty());
        EXPECT_EQ(beats.back().start_ns, 400'000'000'000);
    }
}

TEST(Timeline, stays_within_its_bound_whatever_passes) {
    constexpr std::size_t room = std::size_t{48} << 20;
    Timeline timeline;
    // 100,000 flows that are all busy, then 10,000 intervals of ever new ones.
    for (std::uint64_t serial = 1; serial <= 4; ++serial) timeline.add(reading_of(serial, 100'000));
    EXPECT_LE(timeline.octets(), room + 1200 * sizeof(Pulse));
    EXPECT_FALSE(timeline.beats(100'000).empty());
    for (std::uint64_t serial = 5; serial <= 10'004; ++serial) {
        Reading reading = reading_of(serial, 20);
        for (metrics::FlowSnapshot& flow : reading.interval.flows) flow.id += serial * 1000;
        timeline.add(reading);
    }
    EXPECT_LE(timeline.octets(), room + 1200 * sizeof(Pulse));
    EXPECT_EQ(timeline.pulses().size(), 1200u);
    EXPECT_TRUE(timeline.beats(100'000).empty());
    EXPECT_EQ(timeline.beats(10'004 * 1000 + 1).size(), 1u);
}

TEST(Timeline, a_flow_that_comes_back_begins_anew) {
    Timeline timeline(std::size_t{48} << 20, 3);
    timeline.add(reading_of(1, 1));
    for (std::uint64_t serial = 2; serial <= 9; ++serial) timeline.add(reading_of(serial, 0));
    EXPECT_TRUE(timeline.beats(1).empty());
    timeline.add(reading_of(10, 1));
    EXPECT_EQ(timeline.beats(1).size(), 1u);
}

}  // namespace
}  // namespace tui
