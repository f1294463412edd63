#include "replay/frames/injector.h"

#include <gtest/gtest.h>

#include "replay/frames/rewrite.h"

namespace replay {
namespace {

/// Frames of one octet after an Ethernet header, at these times.
class Made final : public capture::Source {
public:
    explicit Made(std::vector<std::int64_t> times) : times_(std::move(times)), octets_(15, std::byte{0x88}) {}
    capture::ReadStatus next(wire::Frame& frame) override {
        if (at_ == times_.size()) return capture::ReadStatus::end;
        octets_[14] = static_cast<std::byte>(at_);
        frame = {};
        frame.bytes = octets_;
        frame.wire_length = 15;
        frame.time_ns = times_[at_++];
        frame.number = at_;
        return capture::ReadStatus::frame;
    }
    const std::vector<capture::InterfaceInfo>& interfaces() const override { return interfaces_; }
    capture::Statistics statistics(std::size_t) const override { return {}; }
    const base::Error& error() const override { return error_; }

private:
    std::vector<std::int64_t> times_;
    std::size_t at_ = 0;
    std::vector<std::byte> octets_;
    std::vector<capture::InterfaceInfo> interfaces_{1};
    base::Error error_ = {};
};

class FakeClock final : public InjectClock {
public:
    std::int64_t now = 5000;
    std::int64_t now_ns() override { return now; }
    void wait(std::int64_t until_ns) override { now = std::max(now, until_ns); }
};

class Kept final : public FrameOutput {
public:
    explicit Kept(FakeClock& clock) : clock_(clock) {}
    Sent send(const std::vector<base::Bytes>& frames) override {
        for (std::size_t i = 0; i < frames.size(); ++i) {
            const auto number = std::to_integer<int>(frames[i][14]);
            if (number == too_long) return {i, Outcome::too_long};
            sent.emplace_back(clock_.now, number);
            clock_.now += cost_ns;
        }
        return {frames.size()};
    }
    const std::string& error() const override { return error_; }

    std::vector<std::pair<std::int64_t, int>> sent;
    int too_long = -1;
    std::int64_t cost_ns = 0;

private:
    FakeClock& clock_;
    std::string error_;
};

struct Bench {
    explicit Bench(const InjectSettings& settings) : injector(output, clock, outgoing, settings) {}
    bool run(const std::vector<std::int64_t>& times) {
        Made source(times);
        return injector.run(source);
    }
    FakeClock clock;
    Kept output{clock};
    Outgoing outgoing{Rewriter({}), std::nullopt};
    Injector injector;
};
using Sent = std::vector<std::pair<std::int64_t, int>>;

TEST(Injector, keeps_the_gaps) {
    Bench bench{{}};
    ASSERT_TRUE(bench.run({100, 1100, 1100, 4100}));
    EXPECT_EQ(bench.output.sent, (Sent{{5000, 0}, {6000, 1}, {6000, 2}, {9000, 3}}));
    EXPECT_EQ(bench.injector.report().late_ns.max(), 0u);
}

TEST(Injector, scales_them_and_begins_a_loop_a_mean_gap_later) {
    InjectSettings settings;
    settings.speed = 2;
    Bench bench{settings};
    ASSERT_TRUE(bench.run({0, 2000, 8000}));
    ASSERT_TRUE(bench.run({0, 2000, 8000}));
    // 8000 at twice the speed in two gaps: 2000 between the loops.
    EXPECT_EQ(bench.output.sent, (Sent{{5000, 0}, {6000, 1}, {9000, 2}, {11000, 0}, {12000, 1}, {15000, 2}}));
    EXPECT_EQ(bench.injector.report().loops, 2u);
}

TEST(Injector, what_is_late_delays_nothing_else) {
    Bench bench{{}};
    bench.output.cost_ns = 1500;
    ASSERT_TRUE(bench.run({0, 1000, 2000, 20'000}));
    EXPECT_EQ(bench.output.sent, (Sent{{5000, 0}, {6500, 1}, {8000, 2}, {25'000, 3}}));
    EXPECT_EQ(bench.injector.report().late_ns.count(), 4u);
}

TEST(Injector, a_capture_that_goes_back_in_time) {
    Bench bench{{}};
    ASSERT_TRUE(bench.run({1000, 3000, 2000, 4000}));
    EXPECT_EQ(bench.output.sent, (Sent{{5000, 0}, {7000, 1}, {7000, 2}, {8000, 3}}));
    EXPECT_EQ(bench.injector.report().out_of_order, 1u);
}

TEST(Injector, a_frame_that_is_too_long_is_left_out) {
    InjectSettings settings;
    settings.speed.reset();
    Bench bench{settings};
    bench.output.too_long = 1;
    ASSERT_TRUE(bench.run({0, 1, 2}));
    EXPECT_EQ(bench.output.sent, (Sent{{5000, 0}, {5000, 2}}));
    EXPECT_EQ(bench.injector.report().too_long, 1u);
    EXPECT_EQ(bench.injector.report().sent, 2u);
    EXPECT_TRUE(bench.injector.report().late_ns.empty());
}

TEST(Injector, impairments_go_by_due_times_and_not_by_the_clock) {
    InjectSettings settings;
    settings.impairment = {.loss = 0.2, .reorder = 0.2, .delay_ns = 700, .seed = 3};
    std::vector<std::int64_t> times;
    for (int i = 0; i < 200; ++i) times.push_back(i * 1000);
    Bench quick{settings};
    Bench slow{settings};
    slow.output.cost_ns = 777;
    for (Bench* bench : {&quick, &slow}) {
        ASSERT_TRUE(bench->run(times));
        ASSERT_TRUE(bench->injector.finish());
    }
    ASSERT_EQ(quick.output.sent.size(), 200 - quick.injector.impaired().lost);
    for (std::size_t i = 0; i < quick.output.sent.size(); ++i)
        EXPECT_EQ(quick.output.sent[i].second, slow.output.sent[i].second);
    EXPECT_EQ(quick.output.sent.front().first % 1000, 700);
}

TEST(Rewrite, rules_and_what_is_none) {
    EXPECT_TRUE(parse_rewrite("ip:192.0.2.1=10.0.0.1").ok());
    EXPECT_TRUE(parse_rewrite("ip.src:2001:db8::1=fd00::2").ok());
    EXPECT_TRUE(parse_rewrite("mac.dst:any=2:0:0:0:0:1").ok());
    EXPECT_TRUE(parse_rewrite("qpn:0xffffff=1").ok());
    for (const char* const wrong :
         {"", "ip", "ip:1.2.3.4", "ip:1.2.3=1.2.3.4", "ip:1.2.3.4=::1", "mac:any=02:00:00:00:00",
          "mac:any=02:00:00:00:00:01:02", "mac:any=02:00:00:00:00:0g", "port:any=65536", "qpn:any=0x1000000",
          "qpn:any=", "vlan:1=2", "port:x=1"})
        EXPECT_FALSE(parse_rewrite(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace replay
