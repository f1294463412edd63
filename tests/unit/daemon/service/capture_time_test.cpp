/// By which clock a flow is idle.
#include "daemon/capture_time.h"

#include <gtest/gtest.h>

namespace {

using namespace service;

constexpr std::int64_t capture_second = 1'000'000'000;
constexpr std::int64_t wall = 1'800'000'000 * capture_second;
constexpr std::uint64_t idle_ns = 60 * static_cast<std::uint64_t>(capture_second);

TEST(CaptureTime, FlowsOfAnAdapterWhoseClockIsBehindAreNotIdle) {
    CaptureTime time;
    time.passed(0, 5 * capture_second, 100 * capture_second);  // it counts from its own start
    EXPECT_LT(time.idle_since(101 * capture_second, wall, idle_ns), 5 * capture_second);
    EXPECT_EQ(time.idle_since(130 * capture_second, wall, idle_ns), (5 + 30 - 60) * capture_second);
    EXPECT_GT(time.idle_since(161 * capture_second, wall, idle_ns), 5 * capture_second) << "by now they are";
}

TEST(CaptureTime, AndOfOneThatIsAheadAreForgottenInTime) {
    CaptureTime time;
    time.passed(0, 2 * wall, 100 * capture_second);
    EXPECT_LT(time.idle_since(159 * capture_second, wall, idle_ns), 2 * wall);
    EXPECT_GT(time.idle_since(161 * capture_second, wall, idle_ns), 2 * wall);
}

TEST(CaptureTime, TheClockThatIsBehindCounts) {
    CaptureTime time;
    time.passed(3, wall, 100 * capture_second);
    time.passed(1, wall - 3600 * capture_second, 100 * capture_second);
    EXPECT_EQ(time.idle_since(100 * capture_second, wall, idle_ns), wall - 3660 * capture_second);
    time.passed(3, wall + 61 * capture_second, 161 * capture_second);
    EXPECT_EQ(time.idle_since(161 * capture_second, wall, idle_ns), wall + capture_second)
        << "but not of an interface that is silent";
}

TEST(CaptureTime, WithoutFramesItIsTheMachine_s) {
    EXPECT_EQ(CaptureTime().idle_since(1, wall, idle_ns), wall - 60 * capture_second);
}

TEST(CaptureTime, TheEndsOfTimeDoNotWrapRound) {
    CaptureTime time;
    time.passed(0, INT64_MAX - 1, 0);
    EXPECT_EQ(time.idle_since(10 * capture_second, wall, 0), INT64_MAX);
    time.passed(0, INT64_MIN, 0);
    EXPECT_EQ(time.idle_since(0, wall, idle_ns), INT64_MIN);
}

}  // namespace
