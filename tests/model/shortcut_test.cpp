/// The way of the commonest packets gives the figures of the general one, on traffic of every kind.
#include <gtest/gtest.h>

#include "tests/model/bulk.h"
#include "tests/model/model_analysis.h"
#include "tests/model/scenarios.h"
#include "tests/model/tcp_model.h"

namespace {

using namespace model;

std::string figures_of(const Frames& frames, metrics::AnalyzerOptions options, bool shortcut) {
    options.engine.shortcut = shortcut;
    metrics::Snapshot snapshot = analyse(frames, options);
    snapshot.memory_octets = 0;  // both ways are free to hold what they need
    return text_of(snapshot);
}

class ShortcutTest : public testing::TestWithParam<Scenario> {};

TEST_P(ShortcutTest, ChangesNoFigure) {
    const History history = model::run(GetParam().plan);
    for (const Tap tap : {tap_at(0), middle_tap, tap_at(1)}) {
        const Frames frames = capture(history, tap, false);
        const metrics::AnalyzerOptions options = options_for(history);
        EXPECT_EQ(figures_of(frames, options, true), figures_of(frames, options, false));
        metrics::AnalyzerOptions learnt = options;  // the links' rates
        learnt.engine.link_bits_per_sec.reset();
        EXPECT_EQ(figures_of(frames, learnt, true), figures_of(frames, learnt, false));
    }
}

INSTANTIATE_TEST_SUITE_P(Scenarios, ShortcutTest, testing::ValuesIn(scenarios()),
                         [](const auto& each) { return each.param.name; });

class StreamShortcutTest : public testing::TestWithParam<TcpPlan> {};

TEST_P(StreamShortcutTest, ChangesNoFigure) {
    const TcpHistory history = model::run(GetParam());
    for (const bool at_receiver : {false, true}) {
        const Frames frames = capture(history, at_receiver);
        metrics::AnalyzerOptions options;
        EXPECT_EQ(figures_of(frames, options, true), figures_of(frames, options, false));
        options.engine.link_bits_per_sec = GetParam().bits_per_sec;
        const std::string one = figures_of(frames, options, true);
        EXPECT_EQ(one, figures_of(frames, options, false));
        options.threads = 2;
        EXPECT_EQ(one, figures_of(frames, options, true));
    }
}

INSTANTIATE_TEST_SUITE_P(Plans, StreamShortcutTest, testing::ValuesIn(tcp_plans()),
                         [](const auto& each) { return each.param.name; });

/// Few flows are worked on at once, many in batches, and few of too many are evicted all the time.
TEST(Shortcut, ChangesNoFigureOfManyFlows) {
    struct Case {
        std::uint32_t pairs;
        std::uint32_t flows;
        std::size_t max_flows;
    };
    for (const Case& each : {Case{3, 5, 1'000'000}, Case{40, 30, 1'000'000}, Case{40, 30, 2300}, Case{3, 5, 20}}) {
        for (const BulkKind kind : {BulkKind::roce_64, BulkKind::roce_1k, BulkKind::iwarp_64, BulkKind::iwarp_1420}) {
            BulkTraffic traffic(kind, each.pairs, each.flows, false);
            Frames frames;
            for (unsigned i = 0; i < 60'000; ++i) frames.push_back(traffic.next());
            metrics::AnalyzerOptions options;
            options.engine.max_flows = each.max_flows;
            options.dissector.parse.verify_crc = false;
            const std::string one = figures_of(frames, options, true);
            EXPECT_EQ(one, figures_of(frames, options, false))
                << each.pairs << " pairs, " << each.flows << " flows, at most " << each.max_flows;
            options.threads = 3;
            EXPECT_EQ(one, figures_of(frames, options, true)) << "in three threads";
        }
    }
}

}  // namespace
