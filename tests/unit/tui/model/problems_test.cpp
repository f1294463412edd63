#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

#include "controller_bench.h"

/// From a flow with a problem to the packets that show it.
namespace tui::test {
namespace {

using Ids = std::vector<std::uint64_t>;
using testing::HasSubstr;

/// rxe-verbs-rnr: one requester whose receiver posted no receive in time, and the flow of the answers.
struct Problems : testing::Test {
    Problems() {
        bench.all();
        bench.draw(10);
    }
    Bench bench{support::FakeFeed::of_capture("rxe-verbs-rnr.pcap", 60'000'000'000)};
    const ModelState& state() const { return bench.state(); }
    const FlowLine& line(std::size_t at) const { return state().list.lines().at(at); }
};

TEST_F(Problems, come_first_and_are_counted) {
    ASSERT_EQ(state().list.lines().size(), 2U);
    EXPECT_EQ(state().list.problems(), 1U);
    ASSERT_NE(line(0).problem, nullptr);
    EXPECT_EQ(line(0).problem->cause, "rnr");
    EXPECT_EQ(line(1).problem, nullptr);
    bench.press("r");
    EXPECT_EQ(line(1).problem->cause, "rnr") << "the other way round";
}

TEST_F(Problems, can_be_all_that_is_shown) {
    const std::uint64_t id = line(0).id();
    bench.press("!");
    EXPECT_EQ(bench.ids(), (Ids{id}));
    EXPECT_EQ(state().list.hidden(), 1U);
    bench.press("!");
    EXPECT_EQ(bench.ids().size(), 2U);
    bench.press("! Escape");
    EXPECT_EQ(bench.ids().size(), 2U);
}

TEST_F(Problems, the_next_one_is_a_key_away) {
    const std::uint64_t id = line(0).id();
    bench.press("G");
    EXPECT_NE(bench.selected_id(), id);
    bench.press("n");
    EXPECT_EQ(bench.selected_id(), id);
    EXPECT_EQ(state().message, "rnr");
    bench.press("j Enter n");
    EXPECT_EQ(state().view, View::flow);
    EXPECT_EQ(state().flow_id, id);
}

TEST_F(Problems, none_says_so) {
    Bench healthy(std::vector<ReadingPtr>{reading_of(1, {writes(1, 1, 9, 10)})});
    healthy.all();
    healthy.press("!");
    EXPECT_FALSE(healthy.state().choice.only_problems);
    EXPECT_EQ(healthy.state().message, "no flow has a problem");
    healthy.press("n");
    EXPECT_EQ(healthy.state().message, "no flow has a problem");
}

TEST_F(Problems, a_silent_flow_stands_above_those_that_send) {
    auto silent = std::make_shared<Reading>(*bench.feed.readings.back());
    silent->interval.flows.clear();
    silent->interval_problems_.reset();
    silent->total.flows.push_back(writes(1'000'000, 1, 9, 10));
    silent->interval.flows.push_back(silent->total.flows.back());
    silent->total_problems_.reset();
    Bench mixed({silent});
    mixed.all();
    ASSERT_EQ(mixed.state().list.lines().size(), 3U);
    EXPECT_TRUE(mixed.state().list.lines()[0].idle);
    EXPECT_NE(mixed.state().list.lines()[0].problem, nullptr);
    EXPECT_EQ(mixed.state().list.lines()[1].id(), 1'000'000U);
}

TEST_F(Problems, an_event_leads_to_its_packet_and_to_its_flow) {
    const auto& events = state().events.lines();
    ASSERT_FALSE(events.empty());
    bench.press("4 g");
    const EventLine event = events.front();
    bench.press("Enter");
    EXPECT_EQ(state().view, View::packets);
    EXPECT_EQ(state().overlay, Overlay::details);
    EXPECT_EQ(state().details_frame, event.frames.front());
    EXPECT_EQ(state().packets->lines()[state().place().selected].frame, event.frames.front());
    bench.press("Escape 4 g Right");
    EXPECT_EQ(state().view, View::flow);
    EXPECT_EQ(state().flow_id, event.flow);
}

// pcaps/demo-loopback.pcap.gz: frame 1330 is a TCP FIN, which ends a connection and carries no RDMA.
TEST(Events, of_a_frame_without_rdma_show_its_fields) {
    Bench bench(support::FakeFeed::of_capture("demo-loopback.pcap.gz", 250'000'000));
    bench.next();
    bench.next();
    bench.press("4 G Enter");
    EXPECT_EQ(bench.state().view, View::packets);
    EXPECT_EQ(bench.state().overlay, Overlay::details);
    EXPECT_EQ(bench.state().details_frame, 1330U);
    EXPECT_FALSE(bench.state().details.empty());
    EXPECT_GT(bench.state().packets->lines()[bench.state().place().selected].frame, 1330U);
    bench.press("Escape Escape");
    EXPECT_EQ(bench.state().view, View::events);
}

TEST_F(Problems, packets_of_a_flow_are_those_of_both_directions) {
    bench.press("Enter 5");
    EXPECT_EQ(state().view, View::packets);
    const metrics::FlowSnapshot& flow = *bench.feed.readings.back()->total.flow(state().flow_id);
    EXPECT_THAT(state().packet_filter_text, HasSubstr(fmt::format("destqp == {:#x}", *flow.destination.qpn)));
    const std::uint64_t answers = bench.feed.readings.back()->total.flow(*flow.reverse)->packets;
    EXPECT_EQ(state().packets->lines().size(), flow.packets + answers);
    bench.press("Escape");
    EXPECT_EQ(state().packet_filter_text, "");
    EXPECT_GT(state().packets->lines().size(), flow.packets + answers) << "connection management, too";
}

TEST_F(Problems, why_leads_to_the_packets_that_it_names) {
    bench.press("e");
    ASSERT_EQ(state().overlay, Overlay::answers);
    ASSERT_FALSE(state().answers.empty());
    std::set<std::uint64_t> named;
    for (const metrics::Evidence& evidence : state().answers.front().evidence)
        named.insert(evidence.frames.begin(), evidence.frames.end());
    const Ids frames(named.begin(), named.end());
    ASSERT_GE(frames.size(), 2U);
    bench.press("Enter");
    EXPECT_EQ(state().view, View::packets);
    EXPECT_EQ(state().details_frame, frames[0]);
    bench.press("n");
    EXPECT_EQ(state().details_frame, frames[1]);
}

TEST_F(Problems, the_answer_in_sight_counts) {
    bench.press("e");
    Drawn drawn;
    drawn.overlay_page = 20;
    drawn.overlay_rows = 20;
    drawn.evidence = {3, 5};
    bench.model.drawn(drawn);
    bench.press("Enter");
    EXPECT_EQ(state().details_frame, 3U);
    bench.press("n");
    EXPECT_EQ(state().details_frame, 5U);
}

TEST_F(Problems, without_packets_the_event_says_so) {
    bench.feed.state.has_packets = false;
    bench.press("4 g Enter");
    EXPECT_EQ(state().view, View::events);
    EXPECT_THAT(state().message, HasSubstr("not frames"));
    EXPECT_TRUE(state().message_is_error);
}

TEST_F(Problems, all_letters_of_the_time_column_are_explained) {
    bench.press("L");
    EXPECT_EQ(state().overlay, Overlay::letters);
    bench.press("q");
    EXPECT_EQ(state().overlay, Overlay::none);
}

}  // namespace
}  // namespace tui::test
