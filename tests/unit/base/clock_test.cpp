#include "base/clock.h"

#include <chrono>
#include <gtest/gtest.h>

namespace base {
namespace {

TEST(Clock, WallTimeIsTheSystemClocks) {
    const auto system_ns = [] {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    };
    const std::int64_t before = system_ns();
    const std::int64_t now = wall_ns();
    EXPECT_LE(before, now);
    EXPECT_LE(now, system_ns());
}

TEST(Clock, SteadyTimeIsTheMonotonicClocks) {
    const auto steady_now = [] {
        return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
    };
    const std::int64_t before = steady_now();
    const std::int64_t now = steady_ns();
    EXPECT_LE(before, now);
    EXPECT_LE(now, steady_now());
}

TEST(Clock, AClockThatDoesNotExistIsAtZero) { EXPECT_EQ(now_ns(static_cast<clockid_t>(99)), 0); }

TEST(Clock, ConvertsTimespec) {
    EXPECT_EQ(to_ns({1, 2}), 1'000'000'002);
    EXPECT_EQ(to_ns({-1, 999'999'999}), -1);
}

TEST(Clock, ElapsedIsNeverNegative) {
    EXPECT_EQ(elapsed(3, 10), 7u);
    EXPECT_EQ(elapsed(10, 10), 0u);
    EXPECT_EQ(elapsed(10, 3), 0u);
    EXPECT_EQ(elapsed(beginning_of_time, end_of_time), UINT64_MAX);
    EXPECT_EQ(elapsed(end_of_time, beginning_of_time), 0u);
}

TEST(Clock, MovedTimesStayAtTheEndsOfTime) {
    EXPECT_EQ(later(5, 7), 12);
    EXPECT_EQ(later(-5, 3), -2);
    EXPECT_EQ(later(end_of_time, 1), end_of_time);
    EXPECT_EQ(later(end_of_time - 1, 1), end_of_time);
    EXPECT_EQ(later(1, UINT64_MAX), end_of_time);
    EXPECT_EQ(later(beginning_of_time, UINT64_MAX), -1);
    EXPECT_EQ(earlier(5, 7), -2);
    EXPECT_EQ(earlier(beginning_of_time, 1), beginning_of_time);
    EXPECT_EQ(earlier(beginning_of_time + 1, 1), beginning_of_time);
    EXPECT_EQ(earlier(-2, UINT64_MAX), beginning_of_time);
    EXPECT_EQ(earlier(end_of_time, UINT64_MAX), 0);
}

TEST(Clock, AddsInBothDirections) {
    EXPECT_EQ(add_ns(5, 7), 12);
    EXPECT_EQ(add_ns(5, -7), -2);
    EXPECT_EQ(add_ns(beginning_of_time, end_of_time), -1);
    EXPECT_EQ(add_ns(end_of_time, beginning_of_time), -1);
    EXPECT_EQ(add_ns(end_of_time - 1, 2), end_of_time);
    EXPECT_EQ(add_ns(end_of_time, end_of_time), end_of_time);
    EXPECT_EQ(add_ns(beginning_of_time + 1, -2), beginning_of_time);
    EXPECT_EQ(add_ns(-1, beginning_of_time), beginning_of_time);
    EXPECT_EQ(add_ns(0, beginning_of_time), beginning_of_time);
}

}  // namespace
}  // namespace base
