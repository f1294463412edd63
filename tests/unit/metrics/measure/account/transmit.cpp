/// How long the link takes, and what needs no rule.
#include <gtest/gtest.h>

#include "situations.h"

namespace {

using namespace attribution_test;

TEST(WireTime, RoundsUpAndKnowsItsLimits) {
    EXPECT_EQ(metrics::wire_time_ns(1250, 10 * gigabit), 1000u);
    EXPECT_EQ(metrics::wire_time_ns(1251, 10 * gigabit), 1001u);  // 1000.8
    EXPECT_EQ(metrics::wire_time_ns(4178, 100 * gigabit), 335u);  // 334.24
    EXPECT_EQ(metrics::wire_time_ns(1250, 0), 0u);
    EXPECT_EQ(metrics::wire_time_ns(0, gigabit), 0u);
    EXPECT_EQ(metrics::wire_time_ns(10'000'000'000, 8 * gigabit), 10'000'000'000u);  // beyond 64 bits on the way
    EXPECT_EQ(metrics::wire_time_ns(UINT64_MAX, 1), UINT64_MAX);
}

TEST(Transmit, TakesTheClosingPacketsWireTimeAtMost) {
    Attribution attribution;
    attribution.packet(at(0), ten_us);
    Situation next = at(700);
    next.mid_message = true;
    attribution.packet(next, ten_us);
    EXPECT_EQ(time_in(attribution, State::transmit_new), 700u);
    EXPECT_EQ(attribution.last_state(), State::transmit_new);
    EXPECT_EQ(attribution.last_gap_ns(), 700u);
    next = at(700 + 5000);
    next.mid_message = next.again = true;
    next.wire_bytes = 2500;
    attribution.packet(next, ten_us);
    EXPECT_EQ(time_in(attribution, State::transmit_again), 2000u);
    EXPECT_EQ(time_in(attribution, State::nic_stall), 3000u);
    EXPECT_EQ(sum(attribution.states(start + 5700, 0)), 5700u);
}

TEST(Transmit, IsUnknownWithTheLink) {
    Situation closing = at(0);
    closing.mid_message = true;
    closing.link_bits_per_sec = 0;
    const Attribution attribution = one_gap(at(0), closing);
    EXPECT_EQ(time_in(attribution, State::nic_stall), 1'000'000u);
}

TEST(Transmit, AsSoonAsTheLinkAllowsNeedsNoSituation) {
    constexpr std::int64_t never = Situation::never;
    Attribution slow, quick;
    slow.packet(at(0), ten_us);
    quick.packet(at(0), ten_us);
    Situation next = at(1000);
    next.mid_message = true;
    next.messages = 3;
    slow.packet(next, ten_us);
    EXPECT_TRUE(quick.at_once(start + 1000, 1250, 10 * gigabit, start + 500, 3, 0, true));
    EXPECT_EQ(quick.states(start + 1000, 0), slow.states(start + 1000, 0));
    EXPECT_FALSE(quick.at_once(start + 2001, 1250, 10 * gigabit, never, 3, 0, true));  // longer than the wire takes
    EXPECT_FALSE(quick.at_once(start + 2000, 1248, 10 * gigabit, never, 3, 0, true));  // takes 998.4 ns
    EXPECT_FALSE(quick.at_once(start + 999, 1250, 10 * gigabit, never, 3, 0, true));   // back in time
    EXPECT_EQ(quick.last_ns(), start + 1000);
    EXPECT_FALSE(Attribution{}.at_once(start, 1250, 10 * gigabit, never, 0, 0, true));
}

}  // namespace
