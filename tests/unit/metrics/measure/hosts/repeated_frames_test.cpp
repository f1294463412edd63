/// Frames that cross several interfaces: which of them are copies is known from how they are made.
#include "metrics/measure/hosts/repeated_frames.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace metrics {
namespace {

constexpr std::int64_t us = 1'000;
constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t second = 1'000'000'000;

RepeatedFrames::Marks marks_of(std::uint64_t frame) {
    // Addresses that are the same, a PSN, an identification of sixteen bits: much as real ones differ.
    return {0x0a000001'0a000002, 0x0440ffff'00000011, frame << 32 | (frame & 0xffff)};
}

/// Frames as "frame interface" each; what is a copy is answered with 'c', all others with 'n'.
std::string answers(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& frames) {
    RepeatedFrames repeated;
    std::string out;
    std::int64_t now = 0;
    for (const auto& [frame, interface] : frames) out += repeated.note(marks_of(frame), interface, now++) ? 'c' : 'n';
    return out;
}

TEST(RepeatedFrames, HowManyAreBetweenTwoTapsDoesNotMatter) {
    constexpr std::uint64_t count = 300'000;
    for (const std::uint64_t between : {0u, 1u, 255u, 256u, 3'000u, 10'000u, 100'000u, 131'071u}) {
        RepeatedFrames repeated;
        repeated.expect_others();
        std::uint64_t missed = 0;
        std::uint64_t wrong = 0;
        for (std::uint64_t i = 0; i < count + between; ++i) {
            // 100 million a second: the furthest are 1.3 ms apart.
            const auto now = static_cast<std::int64_t>(i * 10);
            if (i < count) wrong += repeated.note(marks_of(i), 0, now);
            if (i >= between) missed += !repeated.note(marks_of(i - between), 1, now + 5);
        }
        EXPECT_EQ(wrong, 0u) << between;
        EXPECT_EQ(missed, 0u) << between;
    }
}

TEST(RepeatedFrames, WhatCameBeforeTheSecondInterfaceIsKept) {
    for (const bool expecting : {false, true}) {
        RepeatedFrames repeated;
        if (expecting) repeated.expect_others();
        const std::uint64_t kept = expecting ? 131'072 : 256;
        for (std::uint64_t i = 0; i < 200'000; ++i)
            ASSERT_FALSE(repeated.note(marks_of(i), 0, static_cast<std::int64_t>(i)));
        std::uint64_t copies = 0;
        for (std::uint64_t i = 0; i < 200'000; ++i) copies += repeated.note(marks_of(i), 1, 200'000);
        EXPECT_EQ(copies, kept);
    }
}

TEST(RepeatedFrames, ExpectingOthersLateLosesNothing) {
    RepeatedFrames repeated;
    for (std::uint64_t i = 0; i < 1'000; ++i) repeated.note(marks_of(i), 7, 0);
    repeated.expect_others();
    repeated.expect_others();
    for (std::uint64_t i = 1'000; i < 5'000; ++i) repeated.note(marks_of(i), 7, 0);
    for (std::uint64_t i = 1'000 - 256; i < 5'000; ++i) ASSERT_TRUE(repeated.note(marks_of(i), 8, 0)) << i;
    EXPECT_FALSE(repeated.note(marks_of(1'000 - 257), 8, 0));
}

TEST(RepeatedFrames, TheOldestGiveWay) {
    constexpr std::uint64_t most = RepeatedFrames::frames_max;
    RepeatedFrames repeated;
    repeated.note(marks_of(1u << 30), 0, 0);
    repeated.note(marks_of(1u << 30), 1, 0);
    for (std::uint64_t i = 0; i < most + 10; ++i) ASSERT_FALSE(repeated.note(marks_of(i), 0, 1 * ms));
    for (std::uint64_t i = most + 10; i-- > 10;) ASSERT_TRUE(repeated.note(marks_of(i), 1, 2 * ms)) << i;
    for (std::uint64_t i = 0; i < 10; ++i) ASSERT_FALSE(repeated.note(marks_of(i), 1, 2 * ms)) << i;
    // They are frames of their own now, and the ten oldest of the others have gone.
    for (std::uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(repeated.note(marks_of(i), 0, 2 * ms)) << i;
    EXPECT_FALSE(repeated.note(marks_of(19), 1, 2 * ms));
    EXPECT_TRUE(repeated.note(marks_of(25), 2, 2 * ms));
}

TEST(RepeatedFrames, MemoryIsTakenWhenItIsNeeded) {
    RepeatedFrames repeated;
    const auto feed = [&](std::uint64_t interface, std::uint64_t count, std::int64_t step_ns) {
        static std::uint64_t frame = 0;
        static std::int64_t now = 0;
        for (std::uint64_t i = 0; i < count; ++i) repeated.note(marks_of(frame++), interface, now += step_ns);
    };
    feed(0, 1'000'000, 1);
    EXPECT_LE(repeated.octets(), 10'000u) << "one interface";
    repeated.expect_others();
    EXPECT_LE(repeated.octets(), 5u << 20) << "a second one may come";
    feed(1, 1'000'000, 100 * us);
    EXPECT_LE(repeated.octets(), 1u << 20) << "ten thousand a second";
    feed(1, 1'000'000, 1);
    EXPECT_LE(repeated.octets(), 14u << 20) << "as many as there may be";
    EXPECT_GE(repeated.octets(), 12u << 20);
}

TEST(RepeatedFrames, EachCopyStandsForOneFrame) {
    // Sent twice on one interface: both are frames, and the other interface has both. A third is one more.
    EXPECT_EQ(answers({{1, 0}, {1, 0}, {1, 1}, {1, 1}, {1, 1}}), "nnccn");
    EXPECT_EQ(answers({{1, 0}, {1, 1}, {1, 0}, {1, 1}, {1, 0}, {1, 1}}), "ncncnc");
    // The third that only the other one has met is met by the first.
    EXPECT_EQ(answers({{1, 0}, {1, 0}, {1, 1}, {1, 1}, {1, 1}, {1, 0}, {1, 0}}), "nnccncn");
    // A frame that was lost between the two: the next one's copy is one all the same.
    EXPECT_EQ(answers({{1, 0}, {1, 0}, {1, 1}, {2, 0}, {2, 1}}), "nncnc");
}

TEST(RepeatedFrames, ThreeInterfaces) {
    // A bond, a slave of it, and both again.
    EXPECT_EQ(answers({{1, 0}, {1, 1}, {1, 2}, {2, 2}, {2, 0}, {2, 1}}), "nccncc");
    EXPECT_EQ(answers({{1, 0}, {1, 0}, {1, 1}, {1, 2}, {1, 1}, {1, 2}}), "nncccc");
    // Three on the third one, two on the others: three.
    EXPECT_EQ(answers({{1, 0}, {1, 1}, {1, 2}, {1, 2}, {1, 2}, {1, 1}, {1, 0}, {1, 1}, {1, 1}}), "nccnncccn");
    // The slave changes between frames, the bond does not.
    EXPECT_EQ(answers({{1, 0}, {1, 1}, {2, 0}, {2, 2}, {3, 1}, {3, 0}, {4, 2}, {4, 0}}), "ncncncnc");
}

TEST(RepeatedFrames, InterfacesBeyondThoseRememberedMeetCopies) {
    EXPECT_EQ(answers({{1, 0}, {1, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 5}, {1, 5}, {1, 3}}), "nccccccn");
}

TEST(RepeatedFrames, InterfacesOfACookedCaptureDiffer) {
    for (std::uint64_t one = 0; one < 2'000; ++one) {
        RepeatedFrames repeated;
        repeated.note(marks_of(1), one << 32, 0);
        ASSERT_TRUE(repeated.note(marks_of(1), (one + 1) << 32, 0));
        ASSERT_FALSE(repeated.note(marks_of(1), one << 32, 0));
    }
}

TEST(RepeatedFrames, CopiesMayComeInAnotherOrder) {
    RepeatedFrames repeated;
    std::vector<std::uint64_t> order(50'000);
    std::iota(order.begin(), order.end(), 0);
    repeated.expect_others();
    for (const std::uint64_t i : order) ASSERT_FALSE(repeated.note(marks_of(i), 0, 0));
    std::shuffle(order.begin(), order.end(), std::mt19937{1});
    for (const std::uint64_t i : order) ASSERT_TRUE(repeated.note(marks_of(i), 1, 0));
}

/// Merged by time, the slower clock comes first, by as many frames as pass in the difference.
TEST(RepeatedFrames, ClocksMayBeApartEitherWay) {
    for (const std::int64_t apart_ns : {-20 * ms, -50 * us, std::int64_t{0}, 50 * us, 20 * ms}) {
        struct Seen {
            std::int64_t time_ns;
            std::uint64_t frame;
            std::uint64_t interface;
        };
        std::vector<Seen> all;
        for (std::uint64_t i = 0; i < 100'000; ++i) {
            const std::int64_t at = second + static_cast<std::int64_t>(i) * us;
            all.push_back({at, i, 0});
            all.push_back({at + 300 + apart_ns, i, 1});
        }
        std::stable_sort(all.begin(), all.end(),
                         [](const Seen& one, const Seen& other) { return one.time_ns < other.time_ns; });
        RepeatedFrames repeated;
        repeated.expect_others();
        std::uint64_t copies[2] = {};
        for (const Seen& each : all)
            copies[each.interface] += repeated.note(marks_of(each.frame), each.interface, each.time_ns);
        EXPECT_EQ(copies[0], apart_ns < 0 ? 100'000u : 0u) << apart_ns;
        EXPECT_EQ(copies[1], apart_ns < 0 ? 0u : 100'000u) << apart_ns;
        // And not sorted at all, as rings of a live capture are emptied one after another.
        RepeatedFrames unsorted;
        std::uint64_t found = 0;
        unsorted.expect_others();
        for (std::uint64_t block = 0; block < 100; ++block)
            for (const std::uint64_t interface : {0u, 1u})
                for (std::uint64_t i = block * 1'000; i < (block + 1) * 1'000; ++i) {
                    const Seen& each = all[i];
                    found += unsorted.note(marks_of(i), interface, each.time_ns + (interface == 1 ? apart_ns : 0));
                }
        EXPECT_EQ(found, 100'000u) << apart_ns;
    }
}

TEST(RepeatedFrames, ASecondApartIsTooMuch) {
    for (const std::int64_t apart_ns : {second, second - 1, second / 2 + 1, -second, std::int64_t{0}})
        for (const bool at_once : {false, true}) {
            RepeatedFrames repeated;
            if (at_once) repeated.note(marks_of(2), 1, 0);
            EXPECT_FALSE(repeated.note(marks_of(1), 0, 5 * second));
            EXPECT_TRUE(repeated.note(marks_of(1), 1, 5 * second + apart_ns)) << apart_ns;
        }
    for (const std::int64_t apart_ns : {second + 1, -second - 1, 100 * second, -100 * second}) {
        RepeatedFrames repeated;
        EXPECT_FALSE(repeated.note(marks_of(1), 0, 5 * second));
        EXPECT_FALSE(repeated.note(marks_of(1), 1, 5 * second + apart_ns)) << apart_ns;
        EXPECT_TRUE(repeated.note(marks_of(1), 0, 5 * second + apart_ns)) << apart_ns;
    }
}

TEST(RepeatedFrames, TheEndsOfTimeAreFarApart) {
    constexpr std::int64_t first = std::numeric_limits<std::int64_t>::min();
    constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
    RepeatedFrames repeated;
    EXPECT_FALSE(repeated.note(marks_of(1), 0, first + second));
    EXPECT_FALSE(repeated.note(marks_of(1), 1, last - second));
    EXPECT_FALSE(repeated.note(marks_of(1), 0, first + second));
}

/// Notifications of congestion have no PSN, nor need IPv4 an identification: each looks like the one before.
TEST(RepeatedFrames, FramesThatLookTheSameForever) {
    for (const std::uint64_t between : {0u, 1u, 7u, 5'000u}) {
        RepeatedFrames repeated;
        repeated.expect_others();
        for (std::uint64_t i = 0; i < 100'000; ++i) {
            const auto now = static_cast<std::int64_t>(i) * 50 * us;  // 5 s
            ASSERT_FALSE(repeated.note(marks_of(1), 0, now)) << between << ' ' << i;
            // Others in between, so that what is remembered of the first one would be overwritten some time.
            for (std::uint64_t k = 1; k <= 4; ++k) ASSERT_FALSE(repeated.note(marks_of(2 + 4 * i + k), 1, now));
            if (i >= between) {
                ASSERT_TRUE(repeated.note(marks_of(1), 1, now)) << between << ' ' << i;
            }
        }
    }
    // A burst, then all of its copies.
    RepeatedFrames repeated;
    for (int i = 0; i < 3'000; ++i) repeated.note(marks_of(1), 0, 0);
    repeated.note(marks_of(2), 1, 0);
    // Without expect_interfaces(), it had kept 256.
    for (int i = 0; i < 256; ++i) ASSERT_TRUE(repeated.note(marks_of(1), 1, 0)) << i;
    EXPECT_FALSE(repeated.note(marks_of(1), 1, 0));
    for (int i = 0; i < 70'000; ++i) repeated.note(marks_of(3), 0, 0);
    for (int i = 0; i < 65'535; ++i) ASSERT_TRUE(repeated.note(marks_of(3), 1, 0)) << i;
}

/// What looks the same and takes another way from now on is no copy of what passed more than a second ago.
TEST(RepeatedFrames, WhatPassedLongAgoIsNotCopiedLater) {
    RepeatedFrames repeated;
    std::int64_t now = 0;
    repeated.note(marks_of(9), 0, now);
    repeated.note(marks_of(9), 1, now);
    for (int i = 0; i < 3'000; ++i) ASSERT_FALSE(repeated.note(marks_of(1), 0, now += ms));
    std::uint64_t copies = 0;
    for (int i = 0; i < 3'000; ++i) copies += repeated.note(marks_of(1), 1, now += ms);
    // Between half a second and a second, either answer is right.
    EXPECT_GE(copies, 500u);
    EXPECT_LE(copies, 1'000u);
}

/// Against the rule itself: of those that look the same as many passed as on the interface that has met most.
TEST(RepeatedFrames, AsManyAsTheInterfaceThatHasMetMost) {
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
        std::mt19937 random{seed};
        RepeatedFrames repeated;
        repeated.expect_others();
        std::map<std::uint64_t, std::array<std::uint64_t, 4>> met;
        const std::uint64_t frames = 1 + random() % 3'000;
        for (std::int64_t now = 0; now < 40'000; ++now) {
            const std::uint64_t frame = random() % frames;
            const std::uint64_t interface = random() % 4;
            std::array<std::uint64_t, 4>& counts = met[frame];
            const std::uint64_t most = *std::max_element(counts.begin(), counts.end());
            const bool copy = ++counts[interface] <= most;
            ASSERT_EQ(repeated.note(marks_of(frame), interface, now), copy) << seed << ' ' << now;
        }
    }
}

}  // namespace
}  // namespace metrics
