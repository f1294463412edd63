#include <gtest/gtest.h>

#include "metrics/measure/iwarp/fpdu_walk.h"
#include "metrics/measure/iwarp/holes.h"
#include "metrics/measure/iwarp/sent_marks.h"
#include "script.h"

namespace {

using namespace metrics::iwarp;
using namespace stream_test;

TEST(SentMarks, the_octets_just_acknowledged_tell_the_round_trip) {
    SentMarks marks;
    marks.sent(100, 1000);
    marks.sent(200, 1500);
    marks.sent(300, 1600);
    EXPECT_EQ(marks.acknowledged(50, 1700), std::nullopt);
    EXPECT_EQ(marks.acknowledged(200, 2500), 1000u) << "not the 1500 of the segment before it";
    EXPECT_EQ(marks.acknowledged(250, 2600), std::nullopt);
    EXPECT_EQ(marks.acknowledged(300, 2700), 1100u);
    EXPECT_EQ(marks.acknowledged(300, 9000), std::nullopt) << "once";
}

TEST(SentMarks, what_is_stamped_before_its_octets_is_no_round_trip) {
    SentMarks marks;
    marks.sent(1100, 1000);
    marks.sent(1200, 5000);
    marks.sent(1300, 5000);
    marks.sent(1400, 5000);
    EXPECT_FALSE(marks.acknowledged(1100, 400));
    EXPECT_FALSE(marks.acknowledged(1200, 4500));
    EXPECT_EQ(marks.acknowledged(1300, 5000), 0u);
    EXPECT_EQ(marks.acknowledged(1400, 7000), 2000u);
}

TEST(SentMarks, positions_wrap_and_long_times_hold) {
    SentMarks marks;
    marks.sent(0x100000010, 0);
    EXPECT_EQ(marks.acknowledged(0x100000010, 10'000'000'000), 10'000'000'000u);
    marks.sent(0x1fffffff0, 0);
    for (std::int64_t second = 1; second < 10; ++second) {
        marks.sent(0x1fffffff0 + static_cast<std::uint64_t>(second) * 0x10, second * 1'000'000'000);
        EXPECT_EQ(
            marks.acknowledged(0x1fffffff0 + static_cast<std::uint64_t>(second - 1) * 0x10, second * 1'000'000'000 + 5),
            1'000'000'005u);
    }
}

/// 1000 segments a nanosecond apart, each answered after 500: more in flight than there are marks.
TEST(SentMarks, samples_are_taken_from_all_of_a_long_flight) {
    SentMarks marks;
    unsigned samples = 0;
    unsigned late_samples = 0;
    for (std::int64_t t = 1; t <= 5000; ++t) {
        marks.sent(static_cast<std::uint64_t>(t), t);
        if (t <= 500) continue;
        const auto round_trip = marks.acknowledged(static_cast<std::uint64_t>(t - 500), t);
        if (!round_trip) continue;
        EXPECT_EQ(*round_trip, 500u);
        ++samples;
        late_samples += t > 3000 ? 1 : 0;
    }
    EXPECT_GT(samples, 4500u / 128);
    EXPECT_GT(late_samples, samples / 4);
}

TEST(Holes, are_filled_from_any_side) {
    Holes holes;
    EXPECT_TRUE(holes.empty());
    ASSERT_TRUE(holes.note({100, 200, 5, {}, false}));
    EXPECT_EQ(holes.find(200, 300, false), nullptr);
    EXPECT_EQ(holes.find(50, 100, false), nullptr);
    Hole* hole = holes.find(120, 130, false);
    ASSERT_NE(hole, nullptr);
    holes.fill(*hole, 120, 130);
    EXPECT_EQ(holes.find(120, 130, false), nullptr);
    ASSERT_NE(holes.find(119, 120, false), nullptr);
    ASSERT_NE(holes.find(130, 131, false), nullptr);
    EXPECT_EQ(holes.find(130, 131, false)->noticed_ns, 5);
    std::uint64_t lost = 0;
    holes.acknowledge(150, [&](std::uint64_t octets, std::uint32_t, std::uint32_t) { lost += octets; });
    EXPECT_EQ(lost, 20u + 20u);
    holes.fill(*holes.find(199, 200, false), 0, 1000);
    EXPECT_TRUE(holes.empty());
}

/// Of what fills a hole each piece was one segment, however many the whole was taken for.
TEST(Holes, know_how_many_segments_they_lack) {
    Holes holes;
    ASSERT_TRUE(holes.note({0, 1000, 5, {}, false, 10}));
    EXPECT_EQ(holes.fill(*holes.find(300, 400, false), 300, 400).packets, 1);
    EXPECT_EQ(holes.find(0, 300, false)->packets, 3u);
    EXPECT_EQ(holes.find(400, 1000, false)->packets, 6u);
    EXPECT_EQ(holes.fill(*holes.find(400, 1000, false), 400, 1000).packets, 6) << "joined segments";
    EXPECT_EQ(holes.fill(*holes.find(0, 300, false), 0, 300).packets, 3);
    EXPECT_TRUE(holes.empty());

    // Taken for one; a piece out of its middle leaves two.
    ASSERT_TRUE(holes.note({0, 1000, 5, {}, false, 1}));
    EXPECT_EQ(holes.fill(*holes.find(300, 400, false), 300, 400).packets, -1);
    EXPECT_EQ(holes.fill(*holes.find(0, 300, false), 0, 100).packets, 0);
    EXPECT_EQ(holes.fill(*holes.find(0, 300, false), 100, 300).packets, 1);
    EXPECT_EQ(holes.fill(*holes.find(400, 1000, false), 400, 1000).packets, 1);
    EXPECT_TRUE(holes.empty());

    // Ten segments of 100, of which 250 octets are acknowledged: three of them.
    ASSERT_TRUE(holes.note({0, 1000, 5, {}, false, 10}));
    std::uint32_t lost = 0;
    const auto count = [&](std::uint64_t, std::uint32_t packets, std::uint32_t settled) {
        lost += packets;
        EXPECT_EQ(settled, packets);
    };
    holes.acknowledge(250, count);
    EXPECT_EQ(lost, 3u);
    holes.acknowledge(1000, count);
    EXPECT_EQ(lost, 10u);
}

TEST(Holes, the_oldest_gives_way_and_repaired_ones_before_it) {
    Holes holes;
    for (std::uint64_t i = 0; i < 32; ++i)
        ASSERT_TRUE(holes.note({1000 + 10 * i, 1005 + 10 * i, static_cast<std::int64_t>(i), {}, i == 20}));
    EXPECT_TRUE(holes.note({5000, 5001, 50, {}, false})) << "in the place of the repaired one";
    EXPECT_EQ(holes.find(1200, 1205, true), nullptr);
    EXPECT_FALSE(holes.note({6000, 6001, 60, {}, false}));
    EXPECT_EQ(holes.find(1000, 1005, false), nullptr);
    EXPECT_NE(holes.find(1010, 1015, false), nullptr);
}

TEST(SendOrder, timestamps_come_before_identifications_and_both_wrap) {
    const SendOrder one{0xffffffff, 10, true, true};
    const SendOrder other{1, 5, true, true};
    EXPECT_LT(one.compare(other), 0);
    EXPECT_GT(other.compare(one), 0);
    const SendOrder same_time{1, 0xfffe, true, true};
    EXPECT_GT(other.compare(same_time), 0);
    EXPECT_EQ(SendOrder{}.compare(other), 0);
}

TEST(FpduWalk, knows_inside_a_message_from_between) {
    FpduWalk walk;
    const Octets two = send_of(1, 100, false) + send_of(1, 100, true, 100);  // 124 octets each
    EXPECT_EQ(walk.advance(1000, 1124, base::Bytes{two}.first(124)), 3);
    EXPECT_TRUE(walk.inside_message(1124)) << "Last is not set";
    walk.advance(1124, 1200, base::Bytes{two}.subspan(124, 76));
    EXPECT_TRUE(walk.inside_message(1200)) << "an FPDU is not complete";
    const Octets rest = Octets(two.begin() + 200, two.end()) + read_response(7, 0, 40);
    EXPECT_EQ(walk.advance(1200, 1200 + rest.size(), rest), 3) << "its first octets are the Send's";
    EXPECT_FALSE(walk.inside_message(1200 + rest.size()));
    EXPECT_EQ(walk.opcode(), 2);
    const Octets request = read_request(1, 5);
    EXPECT_EQ(walk.advance(9000, 9000 + request.size(), request), 1) << "behind a hole a head is looked for";
    const Octets garbage(50, std::byte{0xff});
    walk.advance(20000, 20050, garbage);
    EXPECT_FALSE(walk.inside_message(20050));
}

}  // namespace
