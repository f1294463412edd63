/// The capture thread without traffic: when it takes figures, and what becomes of those that nobody fetches.
#include "daemon/observer.h"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

namespace {

using namespace service;
using namespace std::chrono_literals;

constexpr std::uint64_t interval_ns = 100'000'000;

template <class Condition>
bool comes_true(Condition condition) {
    for (const auto end = std::chrono::steady_clock::now() + 60s; std::chrono::steady_clock::now() < end;
         std::this_thread::sleep_for(10ms))
        if (condition()) return true;
    return false;
}

struct Running {
    Running() {
        Config config;
        config.capture.interfaces = {"rdmascope-none"};
        config.engine.interval_ns = interval_ns;
        auto tap = capture::Tap::open(tap_options(config.capture));
        if (!tap) {
            why = tap.error().text();
            return;
        }
        Observer::Hooks hooks;
        hooks.interval = [] {};
        hooks.log = [this](bool, const std::string& kind, const std::string&) { late += kind == "interval" ? 1 : 0; };
        auto sources = std::make_unique<Sources>(std::move(tap).value(),
                                                 std::vector<std::unique_ptr<capture::VerbsSource>>{}, 0, 100);
        observer = std::make_unique<Observer>(config, std::move(sources), nullptr, std::move(hooks));
        observer->start();
    }
    std::string why;
    std::atomic<int> late = 0;
    std::unique_ptr<Observer> observer;
};

TEST(Observer, AnIntervalThatIsNotFetchedInTimeIsLongerAndNoneIsLost) {
    Running running;
    if (!running.observer) GTEST_SKIP() << running.why;
    ASSERT_TRUE(comes_true([&] { return running.late >= 10; }));
    std::vector<Taken> taken = running.observer->intervals();
    ASSERT_FALSE(taken.empty());
    ASSERT_TRUE(comes_true([&] {
        for (Taken& one : running.observer->intervals()) taken.push_back(std::move(one));
        return taken.size() >= 8;
    }));
    std::uint64_t longest = 0;
    for (const Taken& one : taken) longest = std::max(longest, one.length_ns);
    EXPECT_GE(longest, 10 * interval_ns) << "ten ends were put off";
    for (const Taken& one : taken) EXPECT_GE(one.length_ns, interval_ns);
}

TEST(Observer, ComesAroundThoughNobodyFetches) {
    Running running;
    if (!running.observer) GTEST_SKIP() << running.why;
    ASSERT_TRUE(comes_true([&] { return running.late >= 2; }));
    const std::int64_t then = running.observer->status().alive_ns;
    EXPECT_TRUE(comes_true([&] { return running.observer->status().alive_ns > then; }));
}

TEST(Observer, FreshFiguresComeBeforeTheIntervalEnds) {
    Running running;
    if (!running.observer) GTEST_SKIP() << running.why;
    const Taken first = running.observer->latest(0, 60'000'000'000);
    const Taken second = running.observer->latest(0, 60'000'000'000);
    EXPECT_NE(first.snapshot, second.snapshot);
    EXPECT_GE(second.wall_ns, first.wall_ns);
}

TEST(Observer, WhatIsLeftIsInALastInterval) {
    Running running;
    if (!running.observer) GTEST_SKIP() << running.why;
    running.observer->stop();
    EXPECT_FALSE(running.observer->intervals().empty());
    EXPECT_EQ(running.observer->record_now({.trigger = "t", .reason = "r"}), "the capture thread does not run");
}

}  // namespace
