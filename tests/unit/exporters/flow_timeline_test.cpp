// Bytes over time, of captures whose length is not known before their end. Cells are counted out by hand.
#include "exporters/flow_timeline.h"

#include <gtest/gtest.h>
#include <initializer_list>
#include <map>
#include <vector>

namespace {

using exporters::FlowTimeline;
constexpr std::int64_t ms = 1'000'000;

/// A timeline of flows that send a number of bytes in each stretch of time.
class Traffic {
public:
    explicit Traffic(std::size_t room = FlowTimeline::usual_room) : timeline(room) {}

    std::uint64_t add(std::initializer_list<std::uint64_t> flows, std::uint64_t bytes, std::int64_t start_ns) {
        for (const std::uint64_t id : flows) sums_[id] += bytes;
        std::vector<metrics::FlowBytes> all;
        for (const auto& [id, sum] : sums_) all.push_back({.id = id, .wire_bytes = sum});
        return timeline.add(all, start_ns);
    }
    const FlowTimeline::Cells* of(std::uint64_t id) const { return timeline.of(id); }
    void forget(std::uint64_t id) { sums_.erase(id); }

    FlowTimeline timeline;

private:
    std::map<std::uint64_t, std::uint64_t> sums_;
};

TEST(FlowTimeline, EachTwoCellsBecomeOneWhenTheyAreFull) {
    Traffic timeline;
    constexpr std::int64_t begin = 1'700'000'000'000'000'000 / (65'536 * ms) * (65'536 * ms);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(timeline.add({7}, 100, begin + i * ms), 1'000'000U);
    EXPECT_EQ(*timeline.of(7), FlowTimeline::Cells(64, 100));
    EXPECT_EQ(timeline.add({9}, 5, begin + 64 * ms), 2'000'000U);
    EXPECT_EQ(*timeline.of(7), FlowTimeline::Cells(32, 200));
    EXPECT_EQ(timeline.of(9)->size(), 33U);
    EXPECT_EQ(timeline.of(9)->back(), 5U);
    EXPECT_EQ(timeline.of(8), nullptr);
    // An hour later: 3600 s / 2^16 ms is 54.9.
    EXPECT_EQ(timeline.add({9}, 5, begin + 3'600'000 * ms), 65'536'000'000U);
    EXPECT_EQ(*timeline.of(7), FlowTimeline::Cells{6400});
    EXPECT_EQ(timeline.of(9)->size(), 55U);
}

TEST(FlowTimeline, CellsBeginAtMultiplesOfTheirLength) {
    Traffic timeline;
    // Cells of 1 ms from 3 ms on: 3, 4 ... 66; of 2 ms: 2 (holds 3), 4 (holds 4 and 5) ... 66.
    for (int i = 3; i < 67; ++i) timeline.add({7}, 1, i * ms);
    EXPECT_EQ(timeline.add({7}, 1, 67 * ms), 2'000'000U);
    FlowTimeline::Cells expected(33, 2);
    expected.front() = 1;
    EXPECT_EQ(*timeline.of(7), expected);
}

TEST(FlowTimeline, TimesOfDamagedCapturesEnd) {
    Traffic timeline;
    timeline.add({1}, 1, 0);
    timeline.add({1}, 1, -5);
    timeline.add({1}, 1, INT64_MAX);
    EXPECT_EQ(timeline.of(1)->front(), 2U);
    EXPECT_EQ(timeline.of(1)->back(), 1U);
    for (const std::size_t room : {FlowTimeline::usual_room, std::size_t{1}}) {
        Traffic other(room);
        other.add({1}, 1, INT64_MIN);
        other.add({1}, 1, INT64_MAX);
        EXPECT_LE(other.of(1)->size(), room == 1 ? FlowTimeline::least_cells : FlowTimeline::most_cells);
    }
}

/// Room for 640 cells: 10 flows have 64 each, 20 flows 32, and any number at least 8.
TEST(FlowTimeline, ManyFlowsHaveFewerCells) {
    Traffic timeline(640);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(timeline.add({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 1, i * ms), 1'000'000U);
    EXPECT_EQ(timeline.of(10)->size(), 64U);
    EXPECT_EQ(timeline.add({11}, 7, 63 * ms), 2'000'000U);
    EXPECT_EQ(*timeline.of(1), FlowTimeline::Cells(32, 2));
    EXPECT_EQ(timeline.of(11)->size(), 32U);
    EXPECT_EQ(timeline.of(11)->back(), 7U);
    for (std::uint64_t id = 12; id <= 500; ++id) timeline.add({id}, 1, 64 * ms);
    EXPECT_LE(timeline.of(1)->size(), FlowTimeline::least_cells);
    EXPECT_EQ(timeline.timeline.length_ns(), 16'000'000U) << "cells of 8 ms would be nine";
    EXPECT_EQ(*timeline.of(1), FlowTimeline::Cells(4, 16));
}

TEST(FlowTimeline, ForgottenFlowsTakeNoRoom) {
    Traffic timeline;
    for (std::uint64_t id = 1; id <= 5; ++id) timeline.add({id}, 1, 0);
    for (std::uint64_t id = 1; id <= 3; ++id) timeline.forget(id);
    timeline.add({5}, 1, ms);
    EXPECT_EQ(timeline.of(1), nullptr);
    EXPECT_NE(timeline.of(4), nullptr);
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
