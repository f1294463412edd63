/// What a history does: a capture cut into intervals, their differences merged again.
#include <gtest/gtest.h>
#include <numeric>

#include "metrics/figures/snapshot_sum.h"
#include "metrics/measure/engine/analyzer.h"
#include "snapshot_text.h"
#include "tests/support/captures.h"

namespace metrics {
namespace {

struct Run {
    Snapshot whole;
    Snapshot merged;
};

Run cut(const support::KeptCapture& capture, std::size_t pieces) {
    Analyzer analyzer;
    SnapshotSum sum;
    Snapshot previous;
    std::uint64_t number = 0;
    const std::size_t length = capture.frames.size() / pieces + 1;
    for (const support::KeptFrame& kept : capture.frames) {
        const wire::Frame frame = kept.frame(++number);
        analyzer.feed({&frame, 1}, true);
        if (number % length != 0) continue;
        Snapshot now = analyzer.snapshot();
        sum.add(difference(previous, now));
        previous = std::move(now);
    }
    analyzer.finish();
    Snapshot whole = analyzer.snapshot();
    sum.add(difference(previous, whole));
    return {std::move(whole), sum.take()};
}

std::uint64_t total(const StateTimes& states) {
    return std::accumulate(states.begin(), states.end(), std::uint64_t{0});
}

/// What a later look corrects (a gap that turns out to be a loss, a packet that was only late) is not taken back from
/// an interval that is over: such figures may be above the whole's, never below.
void expect_same_flow(const FlowSnapshot& a, const FlowSnapshot& whole) {
    SCOPED_TRACE("flow " + std::to_string(whole.id));
    EXPECT_EQ(a.packets, whole.packets);
    EXPECT_EQ(a.wire_bytes, whole.wire_bytes);
    EXPECT_EQ(a.payload_bytes, whole.payload_bytes);
    EXPECT_EQ(a.acknowledgement_packets, whole.acknowledgement_packets);
    EXPECT_EQ(a.messages_total(), whole.messages_total());
    EXPECT_GE(a.message_bytes_total(), whole.message_bytes_total());  // a READ's length is known for sure at its end
    EXPECT_EQ(a.message_bytes.buckets(), whole.message_bytes.buckets());
    EXPECT_EQ(a.message_bytes.sum(), whole.message_bytes.sum());
    for (std::size_t i = 0; i < operation_count; ++i) {
        EXPECT_EQ(a.operations[i].count, whole.operations[i].count);
        EXPECT_EQ(a.operations[i].latency_ns.buckets(), whole.operations[i].latency_ns.buckets());
        EXPECT_EQ(a.operations[i].latency_ns.sum(), whole.operations[i].latency_ns.sum());
    }
    EXPECT_EQ(a.naks, whole.naks);
    EXPECT_EQ(a.rnr_naks, whole.rnr_naks);
    EXPECT_EQ(a.cnp_packets, whole.cnp_packets);
    EXPECT_EQ(a.ecn_ce_packets, whole.ecn_ce_packets);
    EXPECT_EQ(a.icrc_bad, whole.icrc_bad);
    EXPECT_EQ(a.crc_bad, whole.crc_bad);
    EXPECT_EQ(a.terminates, whole.terminates);
    EXPECT_GE(a.retransmitted_packets.value_or(0), whole.retransmitted_packets.value_or(0));
    EXPECT_GE(a.missing_packets.value_or(0), whole.missing_packets.value_or(0));
    EXPECT_EQ(a.messages_max, whole.messages_max);
    EXPECT_EQ(a.bytes_max, whole.bytes_max);
    EXPECT_EQ(a.first_ns, whole.first_ns);
    EXPECT_EQ(a.last_ns, whole.last_ns);
    EXPECT_EQ(a.finished, whole.finished);
    EXPECT_EQ(a.reverse, whole.reverse);
    EXPECT_EQ(a.source.qpn, whole.source.qpn);
    EXPECT_EQ(a.connection->end, whole.connection->end);
    EXPECT_EQ(a.connection->setup_ns, whole.connection->setup_ns);
    EXPECT_EQ(a.connection->path_mtu, whole.connection->path_mtu);
    EXPECT_EQ(a.connection->mpa_crc, whole.connection->mpa_crc);
    EXPECT_EQ(total(a.state_ns), a.wall_ns());
    const double area = a.messages_mean * static_cast<double>(a.wall_ns());
    const double expected = whole.messages_mean * static_cast<double>(whole.wall_ns());
    EXPECT_GE(area,
              expected * 0.99 - 1);  // what was outstanding at a cut may turn out to have been acknowledged before
    if (whole.tcp) {
        EXPECT_EQ(a.tcp->segments, whole.tcp->segments);
        EXPECT_EQ(a.tcp->round_trip_ns.buckets(), whole.tcp->round_trip_ns.buckets());
    }
}

TEST(Intervals, merged_are_the_capture_again) {
    std::size_t flows = 0;
    for (const support::KeptCapture& capture : support::load_captures(SIZE_MAX)) {
        for (const std::size_t pieces : {2u, 7u, 40u}) {
            SCOPED_TRACE(capture.name + " in " + std::to_string(pieces));
            const auto [whole, merged] = cut(capture, pieces);
            EXPECT_EQ(merged.capture.packets, whole.capture.packets);
            EXPECT_EQ(merged.capture.bytes, whole.capture.bytes);
            EXPECT_EQ(merged.capture.rdma_units, whole.capture.rdma_units);
            EXPECT_EQ(merged.capture.flows_seen, whole.capture.flows_seen);
            EXPECT_EQ(merged.capture.first_ns, whole.capture.first_ns);
            EXPECT_EQ(merged.capture.last_ns, whole.capture.last_ns);
            EXPECT_EQ(merged.attempts.size(), whole.attempts.size());
            ASSERT_EQ(merged.flows.size(), whole.flows.size());
            for (std::size_t i = 0; i < whole.flows.size(); ++i) {
                ASSERT_EQ(merged.flows[i].id, whole.flows[i].id);
                expect_same_flow(merged.flows[i], whole.flows[i]);
                ++flows;
            }
            ASSERT_EQ(merged.hosts.size(), whole.hosts.size());
            for (std::size_t i = 0; i < whole.hosts.size(); ++i) {
                EXPECT_EQ(merged.hosts[i].address, whole.hosts[i].address);
                EXPECT_EQ(merged.hosts[i].sent_wire_bytes, whole.hosts[i].sent_wire_bytes);
                EXPECT_EQ(merged.hosts[i].received_requests, whole.hosts[i].received_requests);
                EXPECT_EQ(merged.hosts[i].senders, whole.hosts[i].senders);
            }
        }
    }
    EXPECT_GT(flows, 1000u);
}

TEST(SnapshotSum, of_nothing_is_nothing) {
    SnapshotSum sum;
    EXPECT_TRUE(sum.take().flows.empty());
    Snapshot one;
    one.memory_octets = 7;
    sum.add(Snapshot(one));
    sum.add(Snapshot(one));
    sum.add(Snapshot(one));
    EXPECT_EQ(sum.take().memory_octets, 7u);
    EXPECT_EQ(sum.take().memory_octets, 0u);
}

}  // namespace
}  // namespace metrics
