#include "trace/perf/counter_clock.h"

#include <algorithm>
#include <ctime>
#include <gtest/gtest.h>
#include <vector>

#include "trace/processor_counter.h"

namespace {

using trace::CounterClock;

constexpr std::int64_t start_ns = 1'700'000'000'000'000'000;
constexpr std::int64_t ms = 1'000'000;

/// Time as it truly passes, and what the two make of it.
struct Machine {
    std::int64_t ns = 0;
    double ticks_per_ns = 2.5;
    std::uint64_t first_tick = 1'000'000'007;
    std::int64_t clock_error_ns = 0;
    std::int64_t pause_ns = 0;  ///< the thread is not run so long before the clock is read
    int clocks = 0;

    std::uint64_t ticks() const {
        return first_tick + static_cast<std::uint64_t>(static_cast<double>(ns) * ticks_per_ns);
    }
    std::int64_t clock() {
        ++clocks;
        ns += pause_ns;
        return true_ns();
    }
    std::int64_t true_ns() const { return start_ns + ns + clock_error_ns; }
    auto made() {
        return CounterClock([this] { return ticks(); }, [this] { return clock(); });
    }
};

TEST(CounterClock, follows_the_clock_and_asks_it_once_in_a_millisecond) {
    for (const double rate : {0.02, 1.0, 2.5, 5.1}) {
        Machine machine;
        machine.ticks_per_ns = rate;
        auto clock = machine.made();
        for (int i = 0; i < 200'000; ++i) {
            machine.ns += 100;
            // A tick of a slow counter is 50 ns; the clock's error shows in the rate, too.
            ASSERT_NEAR(static_cast<double>(clock.now_ns() - machine.true_ns()), 0, 100) << rate << ' ' << i;
        }
        // Ten thousand in the first millisecond, of which the rate is learnt.
        EXPECT_NEAR(machine.clocks, 10'000 + 19, 3) << rate;
    }
}

TEST(CounterClock, drifts_with_what_adjusts_the_clock) {
    Machine machine;
    auto clock = machine.made();
    std::int64_t last = 0;
    for (int i = 0; i < 300'000; ++i) {
        machine.ns += 100;
        machine.clock_error_ns = machine.ns * 400 / 1'000'000;  // 400 parts in a million, near to the most there is
        const std::int64_t now = clock.now_ns();
        ASSERT_NEAR(static_cast<double>(now - machine.true_ns()), 0, 500) << i;
        ASSERT_GE(now, last);
        last = now;
    }
}

TEST(CounterClock, a_clock_that_is_set_is_believed_within_a_millisecond) {
    for (const std::int64_t by : {-3'600'000 * ms, -50 * ms, 50 * ms, 3'600'000 * ms}) {
        Machine machine;
        auto clock = machine.made();
        for (int i = 0; i < 25'000; ++i) {
            machine.ns += 100;
            clock.now_ns();
        }
        machine.clock_error_ns = by;
        for (int i = 0; i < 60'000; ++i) {
            machine.ns += 100;
            const std::int64_t now = clock.now_ns();
            if (i <= 10'000) continue;
            ASSERT_NEAR(static_cast<double>(now - machine.true_ns()), 0, 20) << by << ' ' << i;
        }
    }
}

TEST(CounterClock, survives_a_counter_that_begins_anew_or_changes_its_rate) {
    for (const bool anew : {true, false}) {
        Machine machine;
        auto clock = machine.made();
        for (int i = 0; i < 25'000; ++i) {
            machine.ns += 100;
            clock.now_ns();
        }
        if (anew) {
            machine.first_tick -= machine.ticks() - 17;
        } else {
            const std::uint64_t before = machine.ticks();
            machine.ticks_per_ns = 3.5;
            machine.first_tick += before - machine.ticks();
        }
        for (int i = 0; i < 60'000; ++i) {
            machine.ns += 100;
            const std::int64_t now = clock.now_ns();
            if (!anew && i <= 10'000) continue;
            ASSERT_NEAR(static_cast<double>(now - machine.true_ns()), 0, 20) << i;
        }
    }
}

TEST(CounterClock, a_pause_between_its_readings_is_not_taken_for_time_that_passed) {
    Machine machine;
    auto clock = machine.made();
    for (int i = 0; i < 100'000; ++i) {
        machine.ns += 100;
        machine.pause_ns = i % 7 == 0 ? i % 5 * ms : 0;
        const std::int64_t now = clock.now_ns();
        ASSERT_NEAR(static_cast<double>(now - machine.true_ns()), 0, 20) << i;
    }
}

TEST(CounterClock, seldom_asked_is_the_clock_itself) {
    Machine machine;
    auto clock = machine.made();
    for (int i = 0; i < 100; ++i) {
        machine.ns += 30'000 * ms;
        EXPECT_EQ(clock.now_ns(), machine.true_ns());
        machine.ns += 100;
        EXPECT_EQ(clock.now_ns(), machine.true_ns());
    }
    EXPECT_EQ(machine.clocks, 200);
}

TEST(CounterClock, a_counter_that_stands_still_leaves_it_to_the_clock) {
    Machine machine;
    machine.ticks_per_ns = 0;
    auto clock = machine.made();
    for (int i = 0; i < 50'000; ++i) {
        machine.ns += 100;
        ASSERT_EQ(clock.now_ns(), machine.true_ns());
    }
}

TEST(CounterClock, on_this_machine) {
    using trace::ProcessorCounter;
    if (sizeof ProcessorCounter::clock_source == 1) GTEST_SKIP() << "no counter is known for this kind of processor";
    ProcessorCounter::prepare();
    const auto system = [] {
        timespec now{};
        clock_gettime(CLOCK_REALTIME, &now);
        return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
    };
    CounterClock clock(ProcessorCounter::read, system);
    // Between two readings of the clock, or so near to one of them as rates can be measured.
    std::vector<std::int64_t> beyond;
    const std::int64_t begin = system();
    while (system() - begin < 50 * ms) {
        const std::int64_t before = system();
        const std::int64_t now = clock.now_ns();
        const std::int64_t after = system();
        beyond.push_back(std::max({before - now, now - after, std::int64_t{0}}));
    }
    std::sort(beyond.begin(), beyond.end());
    EXPECT_LT(beyond[beyond.size() * 99 / 100], 1000) << "of " << beyond.size();
}

}  // namespace
