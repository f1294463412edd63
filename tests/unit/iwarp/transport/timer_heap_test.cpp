/// The heap against a sorted container with the same calls.
#include "iwarp/transport/timer_heap.h"

#include <gtest/gtest.h>
#include <random>
#include <set>
#include <vector>

namespace transport_test {
namespace {

using iwarp::transport::Timer;
using iwarp::transport::TimerHeap;

TEST(TimerHeap, TheFirstIsTheLeastWhateverWasDone) {
    std::mt19937 random(1);
    std::vector<Timer> timers(200);
    TimerHeap heap;
    std::multiset<std::int64_t> expected;
    const auto forget = [&](const Timer& timer) {
        if (timer.place != Timer::nowhere) expected.erase(expected.find(timer.due_ns));
    };
    for (int i = 0; i < 20000; ++i) {
        Timer& timer = timers[random() % timers.size()];
        forget(timer);
        if (random() % 3 == 0) {
            heap.remove(timer);
            EXPECT_EQ(timer.place, Timer::nowhere);
        } else {
            const auto due_ns = static_cast<std::int64_t>(random() % 1000);
            heap.set(timer, due_ns);
            expected.insert(due_ns);
        }
        ASSERT_EQ(heap.empty(), expected.empty());
        if (!expected.empty()) {
            ASSERT_EQ(heap.first().due_ns, *expected.begin());
        }
    }
    while (!heap.empty()) {
        EXPECT_EQ(heap.first().due_ns, *expected.begin());
        expected.erase(expected.begin());
        heap.remove(heap.first());
    }
    EXPECT_TRUE(expected.empty());
}

}  // namespace
}  // namespace transport_test
