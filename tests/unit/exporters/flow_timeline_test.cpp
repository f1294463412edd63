// Bytes over time, of captures whose length is not known before their end. Cells are counted out by hand.
#include "exporters/flow_timeline.h"

#include <gtest/gtest.h>

namespace {

using exporters::FlowTimeline;
constexpr std::int64_t ms = 1'000'000;

/// An interval in which each of these flows sent that number of bytes.
metrics::Snapshot traffic(std::initializer_list<std::uint64_t> flows, std::uint64_t bytes) {
    metrics::Snapshot difference;
    for (const std::uint64_t id : flows) {
        metrics::FlowSnapshot& flow = difference.flows.emplace_back();
        flow.id = id;
        flow.wire_bytes = bytes;
    }
    return difference;
}

TEST(FlowTimeline, EachTwoCellsBecomeOneWhenTheyAreFull) {
    FlowTimeline timeline;
    constexpr std::int64_t begin = 1'700'000'000'000'000'000 / (65'536 * ms) * (65'536 * ms);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(timeline.add(traffic({7}, 100), begin + i * ms), 1'000'000U);
    EXPECT_EQ(*timeline.of(7), FlowTimeline::Cells(64, 100));
    EXPECT_EQ(timeline.add(traffic({9}, 5), begin + 64 * ms), 2'000'000U);
    EXPECT_EQ(*timeline.of(7), FlowTimeline::Cells(32, 200));
    EXPECT_EQ(timeline.of(9)->size(), 33U);
    EXPECT_EQ(timeline.of(9)->back(), 5U);
    EXPECT_EQ(timeline.of(8), nullptr);
    // An hour later: 3600 s / 2^16 ms is 54.9.
    EXPECT_EQ(timeline.add(traffic({9}, 5), begin + 3'600'000 * ms), 65'536'000'000U);
    EXPECT_EQ(*timeline.of(7), FlowTimeline::Cells{6400});
    EXPECT_EQ(timeline.of(9)->size(), 55U);
}

TEST(FlowTimeline, CellsBeginAtMultiplesOfTheirLength) {
    FlowTimeline timeline;
    // Cells of 1 ms from 3 ms on: 3, 4 ... 66; of 2 ms: 2 (holds 3), 4 (holds 4 and 5) ... 66.
    for (int i = 3; i < 67; ++i) timeline.add(traffic({7}, 1), i * ms);
    EXPECT_EQ(timeline.add(traffic({7}, 1), 67 * ms), 2'000'000U);
    FlowTimeline::Cells expected(33, 2);
    expected.front() = 1;
    EXPECT_EQ(*timeline.of(7), expected);
}

TEST(FlowTimeline, TimesOfDamagedCapturesEnd) {
    FlowTimeline timeline;
    timeline.add(traffic({1}, 1), 0);
    timeline.add(traffic({1}, 1), -5);
    timeline.add(traffic({1}, 1), INT64_MAX);
    EXPECT_EQ(timeline.of(1)->front(), 2U);
    EXPECT_EQ(timeline.of(1)->back(), 1U);
    timeline = {};
    timeline.add(traffic({1}, 1), INT64_MIN);
    timeline.add(traffic({1}, 1), INT64_MAX);
    EXPECT_LE(timeline.of(1)->size(), FlowTimeline::most_cells);
}

TEST(FlowTimeline, ManyFlowsAreNotFollowed) {
    FlowTimeline timeline;
    for (std::uint64_t id = 1; id <= FlowTimeline::most_flows; ++id) EXPECT_NE(timeline.add(traffic({id}, 1), 0), 0U);
    EXPECT_EQ(timeline.add(traffic({FlowTimeline::most_flows + 1}, 1), 0), 0U);
    EXPECT_TRUE(timeline.empty());
    EXPECT_EQ(timeline.add(traffic({1}, 1), 0), 0U);
    EXPECT_TRUE(timeline.empty());
}

TEST(FlowTimeline, SparklinesHaveTheGreatestCellAtTheTop) {
    const FlowTimeline::Cells cells{0, 1, 2, 3, 4, 5, 6, 7, 8};
    EXPECT_EQ(exporters::sparkline(cells, 9, base::Charset::utf8), " \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588");
    EXPECT_EQ(exporters::sparkline(cells, 9, base::Charset::ascii), " .:-=+*#@");
    // Pairs: 1, 5, 9, 13, 8.
    EXPECT_EQ(exporters::sparkline(cells, 8, base::Charset::ascii), ".=*@+");
    EXPECT_EQ(exporters::sparkline({1, 0, 1'000'000}, 9, base::Charset::ascii), ". @") << "little is not nothing";
    EXPECT_EQ(exporters::sparkline({0, 0}, 9, base::Charset::ascii), "  ");
    EXPECT_EQ(exporters::sparkline({}, 9), "");
}

}  // namespace
