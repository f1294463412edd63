/// The capture thread without traffic: when it takes figures, and what becomes of figures that are not fetched.
#include "daemon/capture_thread.h"

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
        CaptureThread::Hooks hooks;
        hooks.interval = [] {};
        hooks.log = [this](bool, const std::string& kind, const std::string&) { late += kind == "interval" ? 1 : 0; };
        auto sources = std::make_unique<Sources>(std::move(tap).value(),
                                                 std::vector<std::unique_ptr<capture::VerbsSource>>{}, 0, 100);
        capture_thread = std::make_unique<CaptureThread>(config, std::move(sources), nullptr, std::move(hooks));
        capture_thread->start();
    }
    std::string why;
    std::atomic<int> late = 0;
    std::unique_ptr<CaptureThread> capture_thread;
};

TEST(CaptureThread, AnIntervalThatIsNotFetchedInTimeIsLongerAndNoneIsLost) {
    Running running;
    if (!running.capture_thread) GTEST_SKIP() << running.why;
    ASSERT_TRUE(comes_true([&] { return running.late >= 10; }));
    std::vector<Taken> taken = running.capture_thread->intervals();
    ASSERT_FALSE(taken.empty());
    ASSERT_TRUE(comes_true([&] {
        for (Taken& one : running.capture_thread->intervals()) taken.push_back(std::move(one));
        return taken.size() >= 8;
    }));
    std::uint64_t longest = 0;
    for (const Taken& one : taken) longest = std::max(longest, one.length_ns);
    EXPECT_GE(longest, 10 * interval_ns) << "ten ends were put off";
    for (const Taken& one : taken) EXPECT_GE(one.length_ns, interval_ns);
}

TEST(CaptureThread, ComesAroundThoughNobodyFetches) {
    Running running;
    if (!running.capture_thread) GTEST_SKIP() << running.why;
    ASSERT_TRUE(comes_true([&] { return running.late >= 2; }));
    const std::int64_t then = running.capture_thread->status().alive_ns;
    EXPECT_TRUE(comes_true([&] { return running.capture_thread->status().alive_ns > then; }));
}

TEST(CaptureThread, FreshFiguresComeBeforeTheIntervalEnds) {
    Running running;
    if (!running.capture_thread) GTEST_SKIP() << running.why;
    const Taken first = running.capture_thread->latest(0, 60'000'000'000);
    const Taken second = running.capture_thread->latest(0, 60'000'000'000);
    EXPECT_NE(first.snapshot, second.snapshot);
    EXPECT_GE(second.wall_ns, first.wall_ns);
}

TEST(CaptureThread, WhatIsLeftIsInALastInterval) {
    Running running;
    if (!running.capture_thread) GTEST_SKIP() << running.why;
    EXPECT_TRUE(running.capture_thread->stop());
    EXPECT_FALSE(running.capture_thread->intervals().empty());
    EXPECT_EQ(running.capture_thread->record_now({.trigger = "t", .reason = "r"}).error().text(),
              "the capture thread does not run");
}

}  // namespace
