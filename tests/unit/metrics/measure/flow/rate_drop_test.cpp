#include <gtest/gtest.h>

#include "metrics/measure/flow/flow.h"

namespace metrics {
namespace {

constexpr std::int64_t us = 1'000;

/// A packet of 1000 octets each `gap_us`, from `from_us` up to `to_us`.
void send(RateDrop& rate, std::int64_t from_us, std::int64_t to_us, std::int64_t gap_us) {
    for (std::int64_t now = from_us; now < to_us; now += gap_us) rate.data(now * us, 1000);
}

TEST(RateDrop, halving_after_a_cnp_leaves_a_half) {
    RateDrop rate;
    send(rate, 0, 3000, 10);  // 100 packets a millisecond
    rate.signal(3000 * us);
    send(rate, 3000, 9000, 20);  // 50
    ASSERT_EQ(rate.count, 1u);
    EXPECT_NEAR(rate.sum, 0.5, 0.02);
}

TEST(RateDrop, a_burst_of_cnps_is_one_signal) {
    RateDrop rate;
    send(rate, 0, 3000, 10);
    for (std::int64_t at = 3000; at < 3400; at += 50) rate.signal(at * us);
    send(rate, 3400, 6000, 40);
    EXPECT_EQ(rate.count, 1u);
    EXPECT_NEAR(rate.sum, 0.25, 0.02);
}

TEST(RateDrop, a_sender_that_does_not_slow_down_keeps_all) {
    RateDrop rate;
    send(rate, 0, 3000, 10);
    rate.signal(3000 * us);
    send(rate, 3000, 6000, 5);
    ASSERT_EQ(rate.count, 1u);
    EXPECT_EQ(rate.sum, 1.0);  // never more than all
}

TEST(RateDrop, silence_after_a_cnp_tells_nothing) {
    RateDrop rate;
    send(rate, 0, 3000, 10);
    rate.signal(3000 * us);
    send(rate, 3000, 3500, 10);
    rate.data(90'000 * us, 1000);
    EXPECT_EQ(rate.count, 0u);
}

TEST(RateDrop, without_a_rate_before_there_is_none_after) {
    RateDrop rate;
    rate.signal(0);
    send(rate, 0, 3000, 10);
    EXPECT_EQ(rate.count, 0u);
}

}  // namespace
}  // namespace metrics
