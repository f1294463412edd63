#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller_bench.h"

/// Keys that move, and selections that stay on what they are on.
namespace tui::test {
namespace {

using Ids = std::vector<std::uint64_t>;

/// Twenty flows, the first with the most messages.
std::vector<metrics::FlowSnapshot> twenty() {
    std::vector<metrics::FlowSnapshot> flows;
    for (std::uint64_t id = 1; id <= 20; ++id)
        flows.push_back(writes(id, static_cast<unsigned>(id % 3 + 1), 9, 100 - id));
    return flows;
}

TEST(Moving, by_rows_and_pages_within_what_there_is) {
    Bench bench({reading_of(1, twenty())});
    bench.all();
    bench.draw(5);
    const Place& place = bench.state().places[0];
    EXPECT_EQ(place.count, 20U);
    EXPECT_EQ(place.selected, 0U);
    bench.press("k");
    EXPECT_EQ(place.selected, 0U);
    bench.press("j j");
    EXPECT_EQ(place.selected, 2U);
    EXPECT_EQ(place.top, 0U);
    bench.press("Ctrl-D");
    EXPECT_EQ(place.selected, 7U);
    EXPECT_EQ(place.top, 3U) << "the selected row is the last of five";
    bench.press("PageUp");
    EXPECT_EQ(place.selected, 2U);
    EXPECT_EQ(place.top, 2U);
    bench.press("G");
    EXPECT_EQ(place.selected, 19U);
    EXPECT_EQ(place.top, 15U);
    bench.press("Down PageDown");
    EXPECT_EQ(place.selected, 19U);
    bench.press("Home");
    EXPECT_EQ(place.selected, 0U);
    EXPECT_EQ(place.top, 0U);
}

TEST(Moving, a_larger_screen_shows_what_is_above) {
    Bench bench({reading_of(1, twenty())});
    bench.all();
    bench.draw(5);
    bench.press("G");
    bench.draw(12);
    EXPECT_EQ(bench.state().places[0].top, 8U);
    bench.draw(2);
    EXPECT_EQ(bench.state().places[0].selected, 19U);
    EXPECT_EQ(bench.state().places[0].top, 18U);
}

TEST(Moving, the_selection_follows_its_flow_once_it_was_chosen) {
    auto turned = twenty();
    for (auto& flow : turned) flow = writes(flow.id, 1, 9, 100 + flow.id);
    Bench bench({reading_of(1, twenty()), reading_of(2, turned), reading_of(3, {writes(1, 1, 9, 1)})});
    bench.next();
    bench.draw(5);
    bench.press("j j");
    EXPECT_EQ(bench.selected_id(), 3U);
    bench.next();
    EXPECT_EQ(bench.selected_id(), 3U);
    EXPECT_EQ(bench.state().places[0].selected, 17U);
    EXPECT_EQ(bench.state().places[0].top, 13U) << "and stays in sight";
    bench.next();
    EXPECT_EQ(bench.state().places[0].selected, 0U) << "it is gone, and so are the rows";
    EXPECT_EQ(bench.selected_id(), 1U);
}

TEST(Moving, the_first_row_stays_the_first_until_another_is_chosen) {
    auto turned = twenty();
    for (auto& flow : turned) flow = writes(flow.id, 1, 9, 100 + flow.id);
    Bench bench({reading_of(1, twenty()), reading_of(2, turned), reading_of(3, twenty())});
    bench.next();
    bench.draw(5);
    EXPECT_EQ(bench.selected_id(), 1U);
    bench.next();
    EXPECT_EQ(bench.selected_id(), 20U);
    bench.press("j g");
    bench.next();
    EXPECT_EQ(bench.selected_id(), 1U);
    EXPECT_EQ(bench.state().places[0].selected, 0U);
}

TEST(Moving, the_selection_follows_when_the_order_changes) {
    Bench bench({reading_of(1, twenty())});
    bench.all();
    bench.draw(5);
    bench.press("j j r");
    EXPECT_EQ(bench.selected_id(), 3U);
    EXPECT_EQ(bench.state().places[0].selected, 17U);
    bench.press("p");
    EXPECT_EQ(bench.selected_id(), 3U);
    EXPECT_EQ(bench.state().places[0].selected, 0U);
}

TEST(Moving, from_flow_to_flow_in_the_view_of_one_flow) {
    Bench bench({reading_of(1, twenty())});
    bench.all();
    bench.press("j Enter");
    EXPECT_EQ(bench.state().view, View::flow);
    EXPECT_EQ(bench.state().flow_id, 2U);
    bench.press("j");
    EXPECT_EQ(bench.state().flow_id, 3U);
    EXPECT_EQ(bench.state().view, View::flow);
    bench.press("k k k");
    EXPECT_EQ(bench.state().flow_id, 1U);
    EXPECT_EQ(bench.state().message, "the first flow");
    bench.press("Escape");
    EXPECT_EQ(bench.state().view, View::flows);
    EXPECT_EQ(bench.selected_id(), 1U) << "the table has come along";
}

TEST(Moving, over_the_headings_of_groups) {
    Settings settings;
    settings.grouping = Grouping::source;
    Bench bench({reading_of(1, {writes(1, 1, 9, 50), writes(2, 2, 9, 30)})}, settings);
    bench.all();
    EXPECT_EQ(bench.ids(), (Ids{0, 1, 0, 2}));
    bench.press("j Enter j");
    EXPECT_EQ(bench.state().flow_id, 2U);
    bench.press("j");
    EXPECT_EQ(bench.state().flow_id, 2U);
    EXPECT_EQ(bench.state().message, "the last flow");
}

TEST(Moving, charts) {
    Bench bench({reading_of(1, twenty())});
    bench.all();
    bench.press("Enter l l");
    EXPECT_EQ(bench.state().chart, 2U);
    bench.press("h h h");
    EXPECT_EQ(bench.state().chart, chart_count - 1);
    bench.press("Right");
    EXPECT_EQ(bench.state().chart, 0U);
    bench.press("Enter");
    EXPECT_TRUE(bench.state().spread);
    bench.press("Escape");
    EXPECT_FALSE(bench.state().spread);
    EXPECT_EQ(bench.state().view, View::flow);
    bench.press("z Escape Escape");
    EXPECT_EQ(bench.state().view, View::flows);
}

TEST(Moving, events_follow_the_newest_until_one_is_chosen) {
    std::vector<ReadingPtr> readings;
    for (std::uint64_t i = 1; i <= 4; ++i) {
        auto flow = writes(1, 1, 9, 10);
        flow.event_summaries.push_back({metrics::EventKind::rnr_nak, i, {i * 10}, 1'280'000, i * 1'280'000});
        readings.push_back(reading_of(i, {flow}));
    }
    Bench bench(readings);
    bench.press("4");
    bench.draw(2);
    bench.next();
    bench.next();
    const Place& place = bench.state().places[3];
    ASSERT_EQ(place.count, 2U);
    EXPECT_EQ(place.selected, 1U);
    EXPECT_TRUE(bench.state().follow_events);
    bench.press("g");
    EXPECT_FALSE(bench.state().follow_events);
    bench.next();
    EXPECT_EQ(place.selected, 0U);
    EXPECT_EQ(place.count, 3U);
    bench.press("G");
    bench.next();
    EXPECT_EQ(place.selected, 3U);
    bench.press("f");
    EXPECT_FALSE(bench.state().follow_events);
    bench.press("Right");
    EXPECT_EQ(bench.state().view, View::flow);
    EXPECT_EQ(bench.state().flow_id, 1U);
    bench.press("Escape");
    EXPECT_EQ(bench.state().view, View::events);
}

TEST(Moving, an_event_that_is_chosen_stays_so_when_an_earlier_one_is_told_late) {
    std::vector<ReadingPtr> readings;
    for (std::uint64_t i = 1; i <= 4; ++i) {
        auto reading = reading_of(i, {writes(1, 1, 9, 10)});
        metrics::ConnectionAttempt attempt;
        attempt.outcome = metrics::AttemptOutcome::unanswered;
        // Requests of the seconds 1, 2, 3, and one of which it turns out in the last that it was not answered.
        attempt.request_ns = (i == 4 ? 0 : static_cast<std::int64_t>(i)) * second + 5;
        attempt.request_frame = i;
        reading->interval.attempts = {attempt};
        readings.push_back(reading);
    }
    Bench bench(readings);
    bench.press("4");
    bench.draw(10);
    for (int i = 0; i < 3; ++i) bench.next();
    bench.press("k");
    const Place& place = bench.state().places[3];
    const auto& lines = bench.state().events.lines();
    ASSERT_EQ(lines[place.selected].frames, std::vector<std::uint64_t>{2});
    bench.next();
    ASSERT_EQ(lines.size(), 4U);
    EXPECT_EQ(lines.front().frames, std::vector<std::uint64_t>{4});
    EXPECT_EQ(lines[place.selected].frames, std::vector<std::uint64_t>{2});
}

TEST(Moving, packets_follow_the_newest_until_one_is_chosen) {
    Bench bench(support::FakeFeed::of_capture("rxe-rping.pcap", 50'000'000));
    bench.press("5");
    bench.draw(10);
    bench.next();
    const Place& place = bench.state().places[4];
    while (place.count < 5 && bench.feed.shown < bench.feed.readings.size()) bench.next();
    ASSERT_GT(place.count, 4U);
    EXPECT_EQ(place.selected + 1, place.count);
    bench.press("k k");
    const std::uint64_t frame = bench.state().packets->lines()[place.selected].frame;
    bench.all();
    EXPECT_EQ(bench.state().packets->lines()[place.selected].frame, frame);
    EXPECT_FALSE(bench.state().follow_packets);
    bench.press("Enter");
    EXPECT_EQ(bench.state().overlay, Overlay::details);
    EXPECT_EQ(bench.state().details_frame, frame);
    EXPECT_THAT(bench.state().details, testing::Contains(testing::HasSubstr("Base Transport Header")));
    bench.press("h");
    EXPECT_EQ(bench.state().details_frame, frame - 1);
    bench.press("l l");
    EXPECT_EQ(bench.state().details_frame, frame + 1);
    EXPECT_EQ(bench.state().packets->lines()[place.selected].frame, frame + 1);
    bench.press("Escape f");
    EXPECT_TRUE(bench.state().follow_packets);
    EXPECT_EQ(place.selected + 1, place.count);
}

/// Six entropies between two hosts, the busiest first, below a row of the hosts.
TEST(Moving, paths_lead_to_their_flows) {
    std::vector<metrics::FlowSnapshot> flows = twenty();
    flows.resize(6);
    for (std::size_t i = 0; i < flows.size(); ++i) {
        flows[i].source.address = flows[0].source.address;
        flows[i].destination.address = flows[0].destination.address;
        flows[i].transport = flows[0].transport;
        flows[i].traffic_class = 0;
        flows[i].packets = 1000;
        flows[i].wire_bytes = 1'000'000 * (i + 1);
        flows[i].entropy = metrics::Entropy::of_udp(static_cast<std::uint16_t>(50'000 + i));
    }
    Bench bench({reading_of(1, flows), reading_of(2, flows)});
    bench.next();
    EXPECT_TRUE(bench.state().paths.lines().empty()) << "listed where they are not looked at";
    bench.press("8");
    ASSERT_EQ(bench.state().place().count, 7U);
    EXPECT_EQ(bench.state().paths.lines()[0].row, nullptr);
    bench.press("j j");
    ASSERT_EQ(bench.state().paths.lines()[2].row->figures.entropy, metrics::Entropy::of_udp(50'004));
    bench.next();
    EXPECT_EQ(bench.state().place().selected, 2U) << "the selection stays";
    bench.press("Enter");
    EXPECT_EQ(bench.state().view, View::flow);
    EXPECT_EQ(bench.state().flow_id, flows[4].id);
    bench.press("Escape");
    EXPECT_EQ(bench.state().view, View::paths);
    EXPECT_EQ(bench.state().place().selected, 2U);
}

TEST(Moving, views_by_tab_and_digit) {
    Bench bench({reading_of(1, twenty())});
    bench.all();
    std::vector<View> seen;
    for (int i = 0; i < 8; ++i) {
        bench.press("Tab");
        seen.push_back(bench.state().view);
    }
    EXPECT_EQ(seen, (std::vector{View::hosts, View::congestion, View::events, View::packets, View::counters, View::io,
                                 View::paths, View::flows}));
    bench.press("Shift-Tab");
    EXPECT_EQ(bench.state().view, View::paths);
    bench.press("3");
    EXPECT_EQ(bench.state().view, View::congestion);
    bench.press("1 Enter Tab");
    EXPECT_EQ(bench.state().view, View::hosts) << "beside the view that the flow was opened from";
}

}  // namespace
}  // namespace tui::test
