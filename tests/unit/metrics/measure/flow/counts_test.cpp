/// Counts of a flow that lives for months.
#include <gtest/gtest.h>

#include "metrics/measure/flow/flow_store.h"

namespace {

using namespace metrics;

constexpr std::uint64_t two_to_the_32 = std::uint64_t{1} << 32;

TEST(Counts, go_on_beyond_32_bits) {
    FlowStore store{EngineOptions{}};
    const FlowKey key;
    const FlowIndex index = store.obtain(key, hash_of(key), 1, 0);
    Flow& flow = store.table[index];
    // 17 times around, and two before the next turn: more than four thousand million packets cannot be distinguished
    // here.
    flow.counts.acknowledgements = flow.counts.ce = flow.counts.ecn_capable = 0xfffffffe;
    flow.counts_above = {17, 18, 19};
    flow.count_ecn_capable(false);
    for (int i = 0; i < 5; ++i) {
        flow.count_acknowledgement();
        flow.count_ce();
        flow.count_ecn_capable(true);
        flow.count_ecn_capable(false);
    }
    FlowSnapshot shown;
    store.describe(index, shown);
    EXPECT_EQ(shown.acknowledgement_packets, 18 * two_to_the_32 + 3);
    EXPECT_EQ(shown.ecn_ce_packets, 19 * two_to_the_32 + 3);
    EXPECT_EQ(shown.ecn_capable_packets, 20 * two_to_the_32 + 3);
}

/// At a count of nothing, what is not marked is not taken for a mark that came round.
TEST(Counts, begin_with_what_is_not_marked) {
    Flow flow;
    flow.count_ecn_capable(false);
    EXPECT_EQ(flow.counts_above.ecn_capable, 0u);
    flow.count_ecn_capable(true);
    EXPECT_EQ(flow.counts.ecn_capable, 1u);
    EXPECT_EQ(flow.counts_above.ecn_capable, 0u);
}

TEST(Counts, acknowledgement_timeouts_are_those_of_the_set_up) {
    Flow flow;
    EXPECT_EQ(flow.ack_timeout_ns(), 0u);
    flow.ack_timeout = 15;
    EXPECT_EQ(flow.ack_timeout_ns(), 67'108'864u);  // 14: IBTA vol. 1, 12.7.34: 4.096 us << 14
}

}  // namespace
