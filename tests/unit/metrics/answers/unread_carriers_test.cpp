/// What may be RDMA and could not be read.
#include "metrics/answers/unread_carriers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/metrics/answers/support.h"

namespace metrics {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using why_test::healthy;
using why_test::snapshot_of;

/// A flow of 4000 packets among `packets`, of which `cut` are cut.
Snapshot capture_of(std::uint64_t packets, std::uint64_t cut) {
    Snapshot snapshot = snapshot_of({healthy()});
    snapshot.capture.packets = packets;
    snapshot.capture.truncated = cut;
    return snapshot;
}

TEST(CutPackets, of_flows_are_read_all_the_same) {
    EXPECT_THAT(describe_cut_packets(capture_of(4000, 4000)), IsEmpty());
    EXPECT_THAT(describe_cut_packets(capture_of(9000, 0)), IsEmpty());
}

TEST(CutPackets, that_no_flow_explains_are_counted) {
    EXPECT_THAT(describe_cut_packets(capture_of(6000, 6000)),
                HasSubstr("2,000 packets are cut by the snapshot length"));
}

TEST(CutPackets, a_few_are_no_busy_connection) {
    EXPECT_THAT(describe_cut_packets(capture_of(4049, 4049)), IsEmpty());
    EXPECT_THAT(describe_cut_packets(capture_of(4100, 4100)), IsEmpty()) << "2 % of all";
}

}  // namespace
}  // namespace metrics
