#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

#include "controller_bench.h"

namespace tui::test {
namespace {

using Target = Hit::Target;
using testing::ElementsAre;

std::vector<metrics::FlowSnapshot> ten() {
    std::vector<metrics::FlowSnapshot> flows;
    for (std::uint64_t id = 1; id <= 10; ++id) flows.push_back(writes(id, 1, 9, 100 - id));
    return flows;
}

/// Row i of the view at y = i + 1, headings ten columns wide above them.
std::vector<Hit> table_hits(std::size_t rows) {
    std::vector<Hit> hits;
    for (std::size_t i = 0; i < rows; ++i) hits.push_back({Target::row, 0, static_cast<int>(i) + 1, 80, 1, i});
    for (std::size_t i = 0; i < 8; ++i) hits.push_back({Target::heading, static_cast<int>(i) * 10, 0, 10, 1, i});
    return hits;
}

struct MouseTest : testing::Test {
    MouseTest() {
        bench.all();
        bench.draw(10, table_hits(10));
    }
    Bench bench{std::vector<ReadingPtr>{reading_of(1, ten())}};
};

TEST_F(MouseTest, a_click_selects_and_a_second_opens) {
    bench.click(5, 4);
    EXPECT_EQ(bench.state().places[0].selected, 3U);
    EXPECT_EQ(bench.state().view, View::flows);
    bench.click(7, 4);
    EXPECT_EQ(bench.state().view, View::flow);
    EXPECT_EQ(bench.state().flow_id, 4U);
}

TEST_F(MouseTest, the_row_selected_without_a_click_is_not_opened_by_the_first) {
    bench.click(5, 1);
    EXPECT_EQ(bench.state().view, View::flows);
    bench.click(5, 1);
    EXPECT_EQ(bench.state().view, View::flow);
}

TEST_F(MouseTest, a_double_click_opens) {
    bench.click(5, 6, Mouse::Action::double_press);
    EXPECT_EQ(bench.state().view, View::flow);
    EXPECT_EQ(bench.state().flow_id, 6U);
}

TEST_F(MouseTest, a_heading_sorts_and_again_turns_round) {
    bench.click(35, 0);
    EXPECT_EQ(bench.state().settings.sort, "-cause") << "the fourth, by which it is sorted already";
    bench.click(25, 0);
    EXPECT_EQ(bench.state().settings.sort, "flow");
    bench.click(25, 0);
    EXPECT_EQ(bench.state().settings.sort, "-flow");
}

TEST_F(MouseTest, the_wheel_moves_by_three) {
    bench.click(0, 5, Mouse::Action::scroll_down);
    EXPECT_EQ(bench.state().places[0].selected, 3U);
    bench.click(0, 5, Mouse::Action::scroll_up);
    bench.click(0, 5, Mouse::Action::scroll_up);
    EXPECT_EQ(bench.state().places[0].selected, 0U);
    bench.press("?");
    bench.draw(5, {}, 50);
    bench.click(0, 5, Mouse::Action::scroll_down);
    EXPECT_EQ(bench.state().overlay_place.top, 3U);
    bench.press("Escape c");
    bench.click(0, 5, Mouse::Action::scroll_down);
    EXPECT_EQ(bench.state().menu.place.selected, 3U);
}

TEST_F(MouseTest, tabs_and_play_and_position) {
    bench.feed.state.playable = true;
    bench.feed.state.at_end = false;
    bench.feed.state.begin_ns = 0;
    bench.feed.state.end_ns = 100 * second;
    bench.model.refresh(0);
    bench.draw(5, {{Target::tab, 0, 0, 8, 1, 3}, {Target::play, 10, 0, 1, 1, 0}, {Target::position, 20, 0, 1, 1, 250}});
    bench.click(0, 0);
    EXPECT_EQ(bench.state().view, View::events);
    bench.click(10, 0);
    bench.click(20, 0);
    EXPECT_THAT(bench.feed.orders, ElementsAre("play 0", "seek 25000000000"));
    bench.click(9, 0);
    bench.click(-1, 1000);
    EXPECT_EQ(bench.feed.orders.size(), 2U);
}

TEST_F(MouseTest, items_of_menus) {
    bench.press("u");
    bench.draw(5, {{Target::row, 0, 0, 80, 20, 1}, {Target::item, 2, 2, 20, 1, 1}});
    bench.click(3, 2);
    EXPECT_EQ(bench.state().settings.grouping, Grouping::none);
    bench.click(3, 2);
    EXPECT_EQ(bench.state().settings.grouping, Grouping::source);
    EXPECT_EQ(bench.state().overlay, Overlay::none);
    bench.press("c");
    bench.draw(5, {{Target::item, 2, 2, 20, 1, 1}});
    bench.click(3, 2);
    EXPECT_EQ(bench.state().columns[1].name, "flow") << "kind is gone";
    EXPECT_EQ(bench.state().overlay, Overlay::menu);
}

TEST_F(MouseTest, what_lies_under_an_overlay_is_not_hit) {
    bench.press("?");
    bench.draw(10, table_hits(10), 20);
    bench.click(5, 4);
    bench.click(25, 0);
    EXPECT_EQ(bench.state().places[0].selected, 0U);
    EXPECT_EQ(bench.state().settings.sort, "");
}

/// Readings of flows that come and go, some of them with signs of everything.
ReadingPtr random_reading(std::uint64_t serial, std::mt19937& random) {
    const std::size_t count = random() % 4 == 0 ? 0 : random() % 40;
    std::vector<metrics::FlowSnapshot> total;
    std::vector<metrics::FlowSnapshot> interval;
    for (std::size_t i = 0; i < count; ++i) {
        auto flow =
            writes(1 + i * (1 + random() % 2), static_cast<unsigned>(random() % 4), static_cast<unsigned>(random() % 4),
                   random() % 100, static_cast<std::int64_t>(serial) * second);
        if (!total.empty() && flow.id <= total.back().id) continue;
        flow.ecn_ce_packets = random() % 3;
        if (random() % 3 == 0) flow.reverse = 1 + random() % 40;
        if (random() % 5 == 0) flow.transport = wire::Transport::iwarp;
        if (random() % 4 == 0) flow.event_summaries.push_back({metrics::EventKind::nak, 1, {serial}, 0, 0});
        if (random() % 3 != 0) interval.push_back(flow);
        total.push_back(std::move(flow));
    }
    auto reading = reading_of(serial, std::move(total), std::move(interval));
    reading->restarted = random() % 20 == 0;
    for (auto i = static_cast<unsigned>(random() % 4); i > 0; --i)
        reading->interval.hosts.emplace_back().address = host(i);
    for (auto i = static_cast<unsigned>(random() % 3); i > 0; --i)
        reading->counters.push_back({"siw0", i, "x", random(), 1});
    return reading;
}

void expect_sound(const ModelState& state) {
    for (const Place& place : state.places) {
        EXPECT_TRUE(place.count == 0 ? place.selected == 0 : place.selected < place.count);
        EXPECT_LE(place.top, place.selected);
    }
    EXPECT_EQ(state.places[0].count, state.list.lines().size());
    EXPECT_EQ(state.places[1].count, state.hosts.size());
    EXPECT_EQ(state.places[2].count, state.congested.size());
    EXPECT_EQ(state.places[3].count, state.events.lines().size());
    EXPECT_EQ(state.menu.items.size(), state.menu.chosen.size());
    EXPECT_LE(state.prompt.cursor, state.prompt.text.size());
    EXPECT_FALSE(state.columns.empty());
    EXPECT_LT(state.chart, chart_count);
    EXPECT_EQ(state.settings.grouping, state.choice.grouping);
    EXPECT_GE(state.settings.interval_ns, 100'000'000U);
    EXPECT_LE(state.settings.interval_ns, 10'000'000'000U);
    ASSERT_NE(state.choice.order.field, nullptr);
    for (const FlowLine& line : state.list.lines()) ASSERT_NE(line.flow, nullptr);
}

TEST(Storm, of_keys_clicks_and_readings) {
    std::mt19937 random(1);
    std::vector<Key> keys;
    for (const KeyText& text : key_texts())
        for (const Key& key : keys_named(text.keys)) keys.push_back(key);
    for (const char32_t letter : std::u32string_view(U"goodput>1G&&\"ä€")) keys.push_back(key(letter));
    Bench bench(std::vector<ReadingPtr>{});
    bench.feed.state.begin_ns = 0;
    bench.feed.state.end_ns = 100 * second;
    for (int i = 0; i < 10'000; ++i) {
        bench.model.press(keys[random() % keys.size()]);
        if (random() % 4 == 0) bench.click(static_cast<int>(random() % 90), static_cast<int>(random() % 12));
        if (random() % 5 == 0) {
            std::vector<Hit> hits = table_hits(10);
            hits.push_back({static_cast<Target>(random() % 6), 0, 5, 90, 3, random() % 200});
            bench.draw(1 + random() % 12, std::move(hits), random() % 60);
        }
        if (random() % 7 == 0) {
            bench.feed.readings.push_back(random_reading(bench.feed.readings.size() + 1, random));
            bench.feed.state.playable = random() % 2 == 0;
            bench.next();
        }
        expect_sound(bench.state());
        if (testing::Test::HasFailure()) FAIL() << "after " << i << " steps";
    }
}

TEST(ManyFlows, of_a_hundred_thousand) {
    std::vector<metrics::FlowSnapshot> flows;
    for (std::uint64_t id = 1; id <= 100'000; ++id)
        flows.push_back(
            writes(id, static_cast<unsigned>(id % 200), static_cast<unsigned>(id % 7), id * 7919 % 100'000));
    auto interval = flows;
    interval.resize(50'000);
    Bench bench({reading_of(1, std::move(flows), std::move(interval))});
    bench.all();
    bench.draw(40);
    ASSERT_EQ(bench.ids().size(), 100'000U);
    const auto& lines = bench.state().list.lines();
    for (std::size_t i = 1; i < 50'000; ++i)
        ASSERT_GE(lines[i - 1].flow->messages_total(), lines[i].flow->messages_total());
    EXPECT_FALSE(lines[49'999].idle);
    EXPECT_TRUE(lines[50'000].idle);
    bench.press("G");
    EXPECT_EQ(bench.state().places[0].selected, 99'999U);
    bench.press("/").type(U"message_count == 7919");
    EXPECT_EQ(bench.ids(), (std::vector<std::uint64_t>{1}));
    bench.press("Ctrl-U Enter u Down Enter");
    EXPECT_EQ(bench.ids().size(), 100'200U);
}

}  // namespace
}  // namespace tui::test
