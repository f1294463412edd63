/// By which clock a flow is idle.
#include "daemon/capture_time.h"

#include <gtest/gtest.h>

namespace {

using namespace service;

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t wall = 1'800'000'000 * second;
constexpr std::uint64_t idle_ns = 60 * static_cast<std::uint64_t>(second);

TEST(CaptureTime, FlowsOfAnAdapterWhoseClockIsBehindAreNotIdle) {
    CaptureTime time;
    time.passed(0, 5 * second, 100 * second);  // it counts from its own start
    EXPECT_LT(time.idle_since(101 * second, wall, idle_ns), 5 * second);
    EXPECT_EQ(time.idle_since(130 * second, wall, idle_ns), (5 + 30 - 60) * second);
    EXPECT_GT(time.idle_since(161 * second, wall, idle_ns), 5 * second) << "by now they are";
}

TEST(CaptureTime, AndOfOneThatIsAheadAreForgottenInTime) {
    CaptureTime time;
    time.passed(0, 2 * wall, 100 * second);
    EXPECT_LT(time.idle_since(159 * second, wall, idle_ns), 2 * wall);
    EXPECT_GT(time.idle_since(161 * second, wall, idle_ns), 2 * wall);
}

TEST(CaptureTime, TheClockThatIsBehindCounts) {
    CaptureTime time;
    time.passed(3, wall, 100 * second);
    time.passed(1, wall - 3600 * second, 100 * second);
    EXPECT_EQ(time.idle_since(100 * second, wall, idle_ns), wall - 3660 * second);
    time.passed(3, wall + 61 * second, 161 * second);
    EXPECT_EQ(time.idle_since(161 * second, wall, idle_ns), wall + second) << "but not of an interface that is silent";
}

TEST(CaptureTime, WithoutFramesItIsTheMachine_s) {
    EXPECT_EQ(CaptureTime().idle_since(1, wall, idle_ns), wall - 60 * second);
}

TEST(CaptureTime, TheEndsOfTimeDoNotWrapRound) {
    CaptureTime time;
    time.passed(0, INT64_MAX - 1, 0);
    EXPECT_EQ(time.idle_since(10 * second, wall, 0), INT64_MAX);
    time.passed(0, INT64_MIN, 0);
    EXPECT_EQ(time.idle_since(0, wall, idle_ns), INT64_MIN);
}

}  // namespace
