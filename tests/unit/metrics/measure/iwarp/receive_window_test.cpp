#include "metrics/measure/iwarp/receive_window.h"

#include <gtest/gtest.h>

namespace metrics {
namespace {

using iwarp::ReceiveWindow;

constexpr std::uint64_t round_trip_ns = 8000;

ReceiveWindow window_of(std::uint8_t scale) {
    ReceiveWindow window;
    window.set_scale(scale);
    return window;
}
void advertise(ReceiveWindow& window, std::uint32_t raw, std::uint64_t position, std::int64_t now_ns) {
    window.advertise(raw, position, now_ns, [] { return round_trip_ns; });
}

TEST(ReceiveWindow, reaches_as_far_as_its_scaled_field_says) {
    ReceiveWindow window = window_of(2);
    advertise(window, 100, 1000, 0);
    EXPECT_FALSE(window.holds_back(1400));
    EXPECT_TRUE(window.holds_back(1401));
    EXPECT_TRUE(window.keeps(100, 1000));
    EXPECT_FALSE(window.keeps(100, 1001)) << "the acknowledgement moves it";
    EXPECT_FALSE(window.keeps(99, 1000));
    advertise(window, 50, 1200, 10);
    ASSERT_TRUE(window.range());
    EXPECT_EQ(window.range()->min, 200);
    EXPECT_EQ(window.range()->max, 400);
}

TEST(ReceiveWindow, without_a_scale_only_a_closed_one_is_known) {
    ReceiveWindow window;
    advertise(window, 100, 1000, 0);
    EXPECT_FALSE(window.holds_back(1'000'000));
    EXPECT_FALSE(window.range());
    advertise(window, 0, 1000, 10);
    EXPECT_TRUE(window.holds_back(1001));
    EXPECT_EQ(window.zero_windows(), 1);
}

TEST(ReceiveWindow, adds_up_the_time_in_which_data_does_not_fit) {
    ReceiveWindow window = window_of(0);
    advertise(window, 100, 1000, 0);
    window.watch(1100, 0);
    EXPECT_EQ(window.limited_ns(500), 0);
    window.watch(1101, 500);
    EXPECT_FALSE(window.has_room(1050)) << "until it is looked at again";
    EXPECT_EQ(window.limited_ns(800), 300) << "still limited";
    advertise(window, 200, 1000, 900);
    window.watch(1101, 900);
    EXPECT_EQ(window.limited_ns(5000), 400);
    EXPECT_EQ(window.limited_in_gap_ns(), 400);
    window.begin_gap();
    EXPECT_EQ(window.limited_in_gap_ns(), 0);
    EXPECT_EQ(window.limited_ns(5000), 400);
}

TEST(ReceiveWindow, knows_when_it_first_held_what_is_sent_now) {
    ReceiveWindow window = window_of(0);
    advertise(window, 100, 1000, 0);
    advertise(window, 300, 1000, 20'000);
    const auto way_ns = [] { return round_trip_ns; };
    EXPECT_EQ(window.admitted_ns(1050, 10'000, 25'000, way_ns), Situation::never) << "that much it held before";
    EXPECT_EQ(window.admitted_ns(1200, 10'000, 25'000, way_ns), 20'000);
    EXPECT_EQ(window.admitted_ns(1200, 22'000, 25'000, way_ns), 22'000) << "on its way when the last data passed";
    EXPECT_EQ(window.admitted_ns(1200, 22'000, 40'000, way_ns), Situation::never) << "long since at the sender";
}

}  // namespace
}  // namespace metrics
