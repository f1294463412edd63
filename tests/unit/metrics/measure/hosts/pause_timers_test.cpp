#include "metrics/measure/hosts/pause_timers.h"

#include <gtest/gtest.h>
#include <limits>

namespace metrics {
namespace {

constexpr std::uint64_t rate = 512'000'000'000;  // a quantum is a nanosecond
constexpr std::uint64_t one_sender = 0x020000000001;
constexpr std::uint64_t other_sender = 0x020000000002;

std::uint64_t held(const PauseTimers& timers, std::int64_t now_ns, std::size_t place = 3,
                   std::uint64_t bits_per_sec = rate) {
    const auto times = timers.stopped(now_ns, bits_per_sec);
    EXPECT_TRUE(times);
    return times ? (*times)[place] : 0;
}

TEST(PauseTimers, ZeroEndsWhatRuns) {
    PauseTimers timers;
    timers.note(one_sender, 3, 65535, 1000, rate);
    timers.note(one_sender, 3, 0, 1200, rate);
    timers.note(one_sender, 3, 0, 5000, rate);  // nothing runs
    EXPECT_EQ(held(timers, 1'000'000), 200u);
}

TEST(PauseTimers, ALaterValueTakesThePlaceOfTheFormer) {
    PauseTimers timers;
    timers.note(one_sender, 3, 500, 1000, rate);
    timers.note(one_sender, 3, 500, 1400, rate);  // 100 were left of the first
    timers.note(one_sender, 3, 20, 1500, rate);   // 400 of the second
    EXPECT_EQ(held(timers, 1'000'000), 400u + 100 + 20);
}

TEST(PauseTimers, NoneHoldsLongerThanItSays) {
    PauseTimers timers;
    timers.note(one_sender, 3, 500, 1000, rate);
    EXPECT_EQ(held(timers, 1000), 0u);
    EXPECT_EQ(held(timers, 1300), 300u);  // it runs still
    EXPECT_EQ(held(timers, 1500), 500u);
    EXPECT_EQ(held(timers, 9000), 500u);
    timers.note(one_sender, 3, 500, 9000, rate);
    EXPECT_EQ(held(timers, 10'000), 1000u);
}

/// 65,535 quanta of 512 bits at 100 Gbit/s.
TEST(PauseTimers, AQuantumIs512BitTimes) {
    PauseTimers timers;
    timers.note(one_sender, 0, 65535, 0, 100'000'000'000);
    EXPECT_EQ(held(timers, 1'000'000'000, 0, 100'000'000'000), 335'539u);  // 335,539.2
}

TEST(PauseTimers, PrioritiesAndSendersHaveTimersOfTheirOwn) {
    PauseTimers timers;
    timers.note(one_sender, 3, 500, 1000, rate);
    timers.note(one_sender, 4, 500, 1000, rate);
    timers.note(one_sender, PauseTimers::all, 500, 1000, rate);
    timers.note(other_sender, 3, 500, 1000, rate);
    timers.note(one_sender, 4, 0, 1010, rate);
    timers.note(other_sender, 3, 0, 1020, rate);
    timers.note(one_sender, PauseTimers::all, 0, 1030, rate);
    EXPECT_EQ(held(timers, 9000, 3), 500u + 20);
    EXPECT_EQ(held(timers, 9000, 4), 10u);
    EXPECT_EQ(held(timers, 9000, PauseTimers::all), 30u);
    EXPECT_EQ(held(timers, 9000, 5), 0u);
}

TEST(PauseTimers, TimeThatGoesBackHoldsNothing) {
    PauseTimers timers;
    timers.note(one_sender, 3, 500, 1000, rate);
    timers.note(one_sender, 3, 0, 900, rate);
    timers.note(one_sender, 3, 65535, std::numeric_limits<std::int64_t>::min(), rate);
    timers.note(one_sender, 3, 65535, std::numeric_limits<std::int64_t>::max(), rate);
    EXPECT_EQ(held(timers, std::numeric_limits<std::int64_t>::min()), 65'535u);
}

TEST(PauseTimers, WhatPassedBeforeTheRateWasKnownCountsLater) {
    PauseTimers timers;
    timers.note(one_sender, 3, 500, 1000, 0);
    timers.note(one_sender, 3, 0, 1100, 0);
    timers.note(one_sender, 3, 50, 2000, 0);
    timers.note(one_sender, 3, 0, 2100, 0);
    EXPECT_FALSE(timers.stopped(3000, 0));
    EXPECT_EQ(held(timers, 3000), 100u + 50);
    timers.note(one_sender, 3, 500, 4000, rate);
    timers.note(one_sender, 3, 0, 4001, rate);
    EXPECT_EQ(held(timers, 5000), 100u + 50 + 1);
    EXPECT_FALSE(timers.stopped(5000, 0));
}

/// Neither hosts that do not exist nor a rate that is never learnt take much memory, and what was lost is no figure.
TEST(PauseTimers, AreBounded) {
    PauseTimers timers;
    for (std::uint64_t i = 0; i < 100'000; ++i)
        timers.note(i, i % PauseTimers::places, 10, static_cast<std::int64_t>(i), rate);
    EXPECT_LE(timers.octets(), 16'384u);
    // Each holds for 10 ns and none gives way before.
    std::uint64_t sum = 0;
    for (std::size_t place = 0; place < PauseTimers::places; ++place) sum += held(timers, 1'000'000, place);
    EXPECT_EQ(sum, 1'000'000u);

    PauseTimers unknown;
    for (int i = 0; i < 1025; ++i) unknown.note(one_sender, 3, 10, i, 0);
    EXPECT_EQ(held(unknown, 2000), 1024u + 10);  // 1024 of 1 ns, and the last one
    unknown.note(one_sender, 3, 10, 1025, 0);
    EXPECT_FALSE(unknown.stopped(2000, rate));
    for (int i = 0; i < 100'000; ++i) unknown.note(one_sender, 3, 10, 2000 + i, 0);
    EXPECT_LE(unknown.octets(), 1024u * 16 + 256);
}

}  // namespace
}  // namespace metrics
