/// Captures that hold packets several times: which frames are copies is known from how they are made.
#include "metrics/measure/hosts/frame_copies.h"

#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

namespace metrics {
namespace {

constexpr std::int64_t copy_us = 1'000;
constexpr std::int64_t copy_ms = 1'000'000;

struct Traffic {
    std::uint32_t exchanges = 32;      ///< a request and its answer each
    std::int64_t copy_after_ns = 300;  ///< 0: no copies
    std::uint32_t times = 2;
    std::uint32_t every = 1;     ///< exchange has copies
    bool answers = true;         ///< there are any
    bool answers_copied = true;  ///< they have copies as well
    bool numbered = true;
    bool other_place = false;
    std::uint32_t pair = 1;
    std::int64_t begin_ns = 0;
};

std::vector<FramePrint> made(const Traffic& traffic) {
    std::vector<FramePrint> out;
    for (std::uint32_t i = 0; i < traffic.exchanges; ++i)
        for (const bool forward : {true, false}) {
            if (!forward && !traffic.answers) continue;
            FramePrint print;
            print.packet = std::uint64_t{traffic.pair} << 40 | i << 1 | (forward ? 1 : 0);
            print.pair = traffic.pair;
            print.forward = forward;
            print.time_ns = traffic.begin_ns + i * 20 * copy_us + (forward ? 0 : 8 * copy_us);
            print.identification = traffic.numbered ? static_cast<std::uint16_t>(i + 1) : std::uint16_t{0};
            out.push_back(print);
            if (traffic.copy_after_ns == 0 || i % traffic.every != 0 || (!forward && !traffic.answers_copied)) continue;
            for (std::uint32_t copy = 1; copy < traffic.times; ++copy) {
                print.time_ns += traffic.copy_after_ns;
                print.place = traffic.other_place ? 7 : 0;
                out.push_back(print);
            }
        }
    std::ranges::stable_sort(out, {}, &FramePrint::time_ns);
    return out;
}

std::uint64_t copies_in(const std::vector<FramePrint>& prints) {
    FrameCopies copies;
    copies.learn(prints);
    if (copies.is_on())
        for (const FramePrint& print : prints) copies.is_copy(print);
    return copies.copies();
}

TEST(FrameCopies, EachPacketTwiceIsTheCaptures) {
    EXPECT_EQ(copies_in(made({})), 64u);
    EXPECT_EQ(copies_in(made({.copy_after_ns = 5 * copy_ms})), 64u);
    EXPECT_EQ(copies_in(made({.times = 3})), 128u);
    EXPECT_EQ(copies_in(made({.exchanges = 3})), 0u) << "too few to tell";
}

TEST(FrameCopies, SomePacketsTwiceAreTheNetworks) {
    EXPECT_EQ(copies_in(made({.exchanges = 64, .every = 8})), 0u);
    EXPECT_EQ(copies_in(made({.answers_copied = false})), 0u);
    EXPECT_EQ(copies_in(made({.copy_after_ns = 0})), 0u);
}

TEST(FrameCopies, AnotherPlaceIsProofForOneDirection) {
    EXPECT_EQ(copies_in(made({.answers_copied = false, .other_place = true})), 32u);
}

/// Repeats of an adapter that does not count its packets look like copies.
TEST(FrameCopies, OfUnnumberedPacketsTheNumberAndTheTimeTell) {
    EXPECT_EQ(copies_in(made({.copy_after_ns = 100 * copy_us, .numbered = false})), 64u);
    EXPECT_EQ(copies_in(made({.times = 3, .numbered = false})), 128u);
    EXPECT_EQ(copies_in(made({.copy_after_ns = 10 * copy_ms, .numbered = false})), 0u) << "a timer";
    EXPECT_EQ(copies_in(made({.times = 8, .answers = false, .numbered = false})), 0u) << "a sender without answer";
}

TEST(FrameCopies, ARepeatOfAnUnnumberedPacketIsNoCopy) {
    auto prints = made({.numbered = false});
    FrameCopies copies;
    copies.learn(prints);
    ASSERT_TRUE(copies.is_on());
    FramePrint print = prints.front();
    EXPECT_FALSE(copies.is_copy(print));
    EXPECT_TRUE(copies.is_copy(print));
    print.time_ns += 10 * copy_ms;
    EXPECT_FALSE(copies.is_copy(print));
    EXPECT_TRUE(copies.is_copy(print));
}

TEST(FrameCopies, EachPairOfHostsIsItsOwn) {
    auto prints = made({});
    const auto others = made({.exchanges = 64, .every = 8, .pair = 2});
    prints.insert(prints.end(), others.begin(), others.end());
    EXPECT_EQ(copies_in(prints), 64u);
}

/// The second of two merged captures began later.
TEST(FrameCopies, TheyMayBeginLater) {
    FrameCopies copies;
    copies.learn(made({.copy_after_ns = 0}));
    ASSERT_FALSE(copies.is_on());
    for (const FramePrint& print : made({.exchanges = 400, .copy_after_ns = 5 * copy_ms, .begin_ns = 50 * copy_ms}))
        copies.watch(print);
    EXPECT_TRUE(copies.is_on());
}

/// Two clocks that differ by 100 ms, at two million packets a second: 200,000 packets lie between a packet and its
/// copy.
TEST(FrameCopies, TheyMayComeAfterManyPackets) {
    const auto prints = [] {
        std::vector<FramePrint> out;
        for (std::uint32_t i = 0; i < 1'000'000; ++i) {
            FramePrint print;
            print.packet = std::uint64_t{i} * 0x9e3779b97f4a7c15;
            print.pair = 1;
            print.forward = i % 2 == 0;
            print.identification = static_cast<std::uint16_t>(i / 2 % 65'535 + 1);
            print.time_ns = i * std::int64_t{500};
            out.push_back(print);
            print.time_ns += 100 * copy_ms;
            out.push_back(print);
        }
        std::ranges::stable_sort(out, {}, &FramePrint::time_ns);
        return out;
    }();
    FrameCopies copies;
    copies.learn({prints.data(), 1024});
    ASSERT_FALSE(copies.is_on()) << "the copies come later";
    std::uint64_t found = 0;
    for (const FramePrint& print : prints) {
        // One in sixteen is watched.
        if (!copies.is_on() && print.packet >> 60 == 0) copies.watch(print);
        if (copies.is_on()) found += copies.is_copy(print) ? 1 : 0;
    }
    ASSERT_TRUE(copies.is_on());
    EXPECT_EQ(copies.copies(), found);
    // All but those whose first was before it was turned on.
    EXPECT_GT(copies.copies(), 700'000u);
    EXPECT_LT(copies.octets(), 64u << 20);
    EXPECT_EQ(copies.elsewhere(), 0u);
}

TEST(FrameCopies, ATableGrowsNoFurtherThanItsBound) {
    FrameCopies copies;
    copies.learn(made({}));
    ASSERT_TRUE(copies.is_on());
    FramePrint print;
    print.pair = 1;
    for (std::uint64_t i = 0; i < 4'000'000; ++i) {
        print.packet = (i + 1) * 0x9e3779b97f4a7c15;
        print.identification = static_cast<std::uint16_t>(i % 65'535 + 1);
        print.time_ns = static_cast<std::int64_t>(i);
        copies.is_copy(print);
    }
    EXPECT_GT(copies.octets(), 32u << 20);
    EXPECT_LT(copies.octets(), 64u << 20);
}

TEST(FrameCopies, DoubledPacketsDoNotTurnItOnLater) {
    FrameCopies copies;
    for (const FramePrint& print : made({.exchanges = 4000, .every = 4})) copies.watch(print);
    for (const FramePrint& print : made({.exchanges = 4000, .answers_copied = false, .pair = 2})) copies.watch(print);
    EXPECT_FALSE(copies.is_on());
}

}  // namespace
}  // namespace metrics
