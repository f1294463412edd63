#include <gtest/gtest.h>
#include <numeric>

#include "dissect/dissector.h"
#include "tests/model/scenarios.h"

/// The model itself: what it claims must hold before anything is measured against it.
namespace {

using namespace model;

class ModelTest : public testing::TestWithParam<Scenario> {};

TEST_P(ModelTest, EveryMessageIsPostedAndCompleted) {
    const History history = model::run(GetParam().plan);
    ASSERT_FALSE(history.passages.empty());
    for (std::uint32_t side = 0; side < history.sides.size(); ++side) {
        EXPECT_EQ(history.sides[side].posted, history.end(side).application.messages) << side;
        EXPECT_EQ(history.sides[side].completed, history.end(side).application.messages) << side;
    }
}

TEST_P(ModelTest, StatesCoverAllOfTheTime) {
    const History history = model::run(GetParam().plan);
    for (const SideTruth& side : history.sides) {
        const metrics::StateTimes times = side.states(0, history.end_ns);
        EXPECT_EQ(std::accumulate(times.begin(), times.end(), std::uint64_t{0}),
                  static_cast<std::uint64_t>(history.end_ns));
    }
}

TEST_P(ModelTest, TransmitTimeIsTheTimeOfThePacketsOnTheLink) {
    const History history = model::run(GetParam().plan);
    std::vector<std::uint64_t> expected(history.sides.size());
    for (const Passage& passage : history.passages)
        if (passage.place == Place::leaving && passage.packet.data())
            expected[passage.packet.side] +=
                (link_octets(passage.packet, history.plan.framing) * 8 + 99) / 100;  // 100 Gb/s: 100 bits a nanosecond
    for (std::size_t i = 0; i < history.sides.size(); ++i) {
        const metrics::StateTimes times = history.sides[i].states(0, history.end_ns);
        EXPECT_EQ(times[metrics::index_of(metrics::State::transmit_new)] +
                      times[metrics::index_of(metrics::State::transmit_again)],
                  expected[i]);
    }
}

struct Checks : dissect::Sink {
    void on_unit(const dissect::Unit&) override { ++units; }
    std::uint64_t units = 0;
};

TEST_P(ModelTest, FramesAreWellFormedInEveryFraming) {
    Plan plan = GetParam().plan;
    for (const Framing framing : {Framing::roce2_ipv4, Framing::roce2_ipv6, Framing::roce1, Framing::infiniband}) {
        plan.framing = framing;
        const History history = model::run(plan);
        const auto passages = seen(history, tap_at(0));
        dissect::Dissector dissector;
        Checks checks;
        std::uint64_t expected = 0;
        for (std::size_t i = 0; i < passages.size() && i < 400; ++i) {
            const support::KeptFrame kept = emit(passages[i]->packet, framing, passages[i]->time_ns, true);
            dissector.dissect(kept.frame(i + 1), checks);
            expected += passages[i]->packet.pause ? 0 : 1;
        }
        EXPECT_EQ(checks.units, expected);
        EXPECT_EQ(dissector.counters().malformed, 0u);
        EXPECT_EQ(dissector.counters().odd, 0u);
        EXPECT_EQ(dissector.counters().truncated, 0u);
    }
}

INSTANTIATE_TEST_SUITE_P(Scenarios, ModelTest, testing::ValuesIn(scenarios()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
