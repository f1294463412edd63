// Charts of hand-made intervals, computed by hand.
#include "tui/view/chart.h"

#include <gtest/gtest.h>
#include <memory>

#include "tui/view/flow_figures.h"
#include "tui/view/heat_map.h"
#include "tui/view/wrap.h"

namespace tui {
namespace {

using metrics::State;

constexpr std::uint64_t second = 1'000'000'000;

/// One flow, number 1, whose intervals are given; those of length 0 are silent.
struct Life {
    struct Interval {
        metrics::StateTimes states{};
        std::uint64_t latency_ns = 0;
        std::uint64_t operations = 0;
        double outstanding = 0;
        std::uint64_t most = 0;
        bool silent = false;
    };
    std::vector<Interval> intervals = {};
    bool answered = true;            ///< the other direction was captured
    std::uint64_t unread_bytes = 0;  ///< of 1,000 octets of a TCP connection

    void into(tui::ModelState& state) const {
        auto last = std::make_shared<Reading>();
        for (std::size_t i = 0; i < intervals.size(); ++i) {
            auto reading = std::make_shared<Reading>();
            reading->serial = i + 1;
            reading->start_ns = static_cast<std::int64_t>(i * second);
            reading->length_ns = second;
            metrics::FlowSnapshot flow;
            flow.id = 1;
            if (answered) flow.reverse = 2;
            flow.last_ns = 1;
            flow.service = metrics::Service::rc;
            if (unread_bytes != 0) {
                flow.tcp.emplace().connection_bytes = 1000;
                flow.tcp->unread_bytes = unread_bytes;
            }
            flow.state_ns = intervals[i].states;
            flow.messages_mean = intervals[i].outstanding;
            flow.messages_max = intervals[i].most;
            flow.operations[0].count = intervals[i].operations;
            if (intervals[i].operations != 0)
                flow.operations[0].latency_ns.record(intervals[i].latency_ns, intervals[i].operations);
            reading->total.flows = {flow};
            if (!intervals[i].silent) reading->interval.flows = {flow};
            state.timeline.add(*reading);
            last = std::move(reading);
        }
        state.reading = last;
        state.flow_id = 1;
    }
};

Life::Interval of_states(std::initializer_list<std::pair<State, double>> shares) {
    Life::Interval interval;
    for (const auto& [state, share] : shares)
        interval.states[metrics::index_of(state)] = static_cast<std::uint64_t>(share * second);
    return interval;
}

constexpr Life::Interval quiet_interval{{}, 0, 0, 0, 0, true};

template <class Draw>
std::string drawn(const tui::ModelState& state, Draw draw, int width, int height) {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
    Grid grid(width, height);
    grid.set_ellipsis(ascii_letters.ellipsis);
    Drawn out;
    Canvas canvas{state, ascii_letters, grid, out};
    draw(canvas, Area{0, 0, width, height}, picture_of(state), true);
    return grid.plain();
}

TEST(TimeColumns, few_intervals_are_drawn_wider_at_the_right) {
    tui::ModelState state;
    Life{{of_states({{State::transmit_new, 1}}), of_states({{State::credit, 1}})}}.into(state);
    const TimeColumns columns = time_columns(picture_of(state), 10);
    EXPECT_EQ(columns.first, 4);  // two of three columns each
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(columns.beats[i], nullptr);
    for (std::size_t i = 4; i < 7; ++i) EXPECT_EQ(columns.beats[i]->start_ns, 0);
    for (std::size_t i = 7; i < 10; ++i) EXPECT_EQ(columns.beats[i]->start_ns, 1'000'000'000);
    EXPECT_EQ(columns.begin_ns, 0);
    EXPECT_EQ(columns.end_ns, 2'000'000'000);
}

TEST(TimeColumns, of_a_live_source_the_newest_fit) {
    tui::ModelState state;
    Life life;
    for (int i = 0; i < 25; ++i) life.intervals.push_back(of_states({{State::transmit_new, 1}}));
    life.into(state);
    const TimeColumns columns = time_columns(picture_of(state), 10);
    EXPECT_EQ(columns.first, 0);
    EXPECT_EQ(columns.begin_ns, 15'000'000'000);
    EXPECT_EQ(columns.beats.front()->start_ns, 15'000'000'000);
    EXPECT_EQ(columns.beats.back()->start_ns, 24'000'000'000);
}

TEST(TimeColumns, of_one_that_is_played_back_several_are_put_together) {
    tui::ModelState state;
    state.feed.playable = true;
    Life life;
    for (int i = 0; i < 25; ++i) {
        Life::Interval interval = of_states({{i % 3 == 0 ? State::transmit_new : State::credit, 1}});
        interval.latency_ns = 5;
        interval.operations = 2;
        interval.outstanding = i % 3;
        interval.most = static_cast<std::uint64_t>(i);
        life.intervals.push_back(interval);
    }
    life.into(state);
    const TimeColumns columns = time_columns(picture_of(state), 10);
    // Three to a column: nine columns, the last of which has but one.
    EXPECT_EQ(columns.first, 1);
    EXPECT_EQ(columns.begin_ns, 0);
    const Beat& beat = *columns.beats[1];
    EXPECT_EQ(beat.states[metrics::index_of(State::transmit_new)], 85);
    EXPECT_EQ(beat.states[metrics::index_of(State::credit)], 170);
    EXPECT_EQ(beat.latency[2], 6);
    EXPECT_FLOAT_EQ(beat.outstanding_mean, 1);
    EXPECT_EQ(beat.outstanding_max, 2u);
    EXPECT_EQ(columns.beats[9]->states[metrics::index_of(State::transmit_new)], 255);
}

TEST(TimeColumns, a_silence_is_what_its_end_said_it_was) {
    tui::ModelState state;
    Life::Interval end = of_states({{State::recover_timeout, 2.5}, {State::transmit_again, 0.5}});
    end.outstanding = 3;
    Life{{of_states({{State::transmit_new, 1}}), quiet_interval, quiet_interval, end, quiet_interval}}.into(state);
    const TimeColumns columns = time_columns(picture_of(state), 5);
    ASSERT_NE(columns.beats[1], nullptr);
    EXPECT_EQ(columns.beats[1]->states[metrics::index_of(State::recover_timeout)], 255);
    EXPECT_EQ(columns.beats[2]->states[metrics::index_of(State::recover_timeout)], 255);
    EXPECT_FLOAT_EQ(columns.beats[2]->outstanding_mean, 3);
    EXPECT_EQ(columns.beats[4], nullptr);  // not over yet: nobody knows what it will be
}

TEST(Charts, states_are_stacked_in_their_order_from_below) {
    tui::ModelState state;
    Life{{of_states({{State::transmit_new, 0.5}, {State::read_window, 0.25}, {State::application_idle, 0.25}}),
          of_states({{State::transmit_again, 0.5}}), of_states({{State::transmit_new, 1}})}}
        .into(state);
    // 19 columns: 9 of the axis, 10 of the plot; three intervals of three columns; four rows of a quarter each.
    EXPECT_EQ(drawn(state, draw_states_chart, 19, 6),
              "+ where the time w~\n"
              "   100 %| ...   TTT\n"
              "        | DDD   TTT\n"
              "        | TTTRRRTTT\n"
              "     0 %| TTTRRRTTT\n"
              "       00:00:03.000\n");
}

TEST(Charts, latencies_are_rows_of_powers_of_two) {
    tui::ModelState state;
    Life life;
    for (const std::uint64_t ns : {1024U, 4096U, 2048U}) {
        Life::Interval interval;
        interval.latency_ns = ns;
        interval.operations = ns == 4'096 ? 1 : 100;
        life.intervals.push_back(interval);
    }
    life.into(state);
    const TimeColumns columns = time_columns(picture_of(state), 3);
    const HeatMap map = heat_map_of(columns, 8);
    EXPECT_EQ(map.lowest, 10u);
    EXPECT_EQ(map.bins_per_row, 1u);
    EXPECT_EQ(map.most, 100u);
    EXPECT_EQ(map.rows, (std::vector<std::vector<std::uint32_t>>{{100, 0, 0}, {0, 0, 100}, {0, 1, 0}}));
    // On two lines, two powers to a row.
    const HeatMap low = heat_map_of(columns, 2);
    EXPECT_EQ(low.bins_per_row, 2u);
    EXPECT_EQ(low.rows, (std::vector<std::vector<std::uint32_t>>{{100, 0, 100}, {0, 1, 0}}));
    EXPECT_TRUE(heat_map_of(columns, 0).rows.empty());
}

TEST(Charts, heat_has_seven_steps) {
    EXPECT_EQ(heat_of(0, 100), 0u);
    EXPECT_EQ(heat_of(1, 1), 7u);
    EXPECT_EQ(heat_of(100, 100), 7u);
    // ln(2) / ln(101) is 0.150, ln(11) / ln(101) is 0.520, ln(100) / ln(101) is 0.998; times six, and one.
    EXPECT_EQ(heat_of(1, 100), 1u);
    EXPECT_EQ(heat_of(10, 100), 4u);
    EXPECT_EQ(heat_of(99, 100), 6u);
    unsigned before = 0;
    for (std::uint32_t count = 0; count <= 65'535; ++count) {
        const unsigned now = heat_of(count, 65'535);
        ASSERT_GE(now, before);
        before = now;
    }
}

TEST(Charts, what_is_outstanding_has_bars_and_a_limit) {
    tui::ModelState state;
    Life life;
    for (const double mean : {4.0, 2.0, 1.0}) {
        Life::Interval interval;
        interval.outstanding = mean;
        interval.most = 4;
        life.intervals.push_back(interval);
    }
    life.into(state);
    // Of four at most, in four rows: 4 fill the column, 2 half of it, 1 a quarter; the most stands in the highest row.
    EXPECT_EQ(drawn(state, draw_outstanding_chart, 18, 6),
              "+ outstanding mes~\n"
              "       4|###------\n"
              "        |###\n"
              "        |######\n"
              "       0|#########\n"
              "      00:00:03.000\n");
}

TEST(Charts, do_not_draw_what_is_outstanding_where_that_cannot_be_told) {
    const auto of = [](bool answered, std::uint64_t unread_bytes) {
        tui::ModelState state;
        Life life;
        life.intervals.emplace_back().most = 4;
        life.answered = answered;
        life.unread_bytes = unread_bytes;
        life.into(state);
        return drawn(state, draw_outstanding_chart, 60, 6);
    };
    EXPECT_EQ(of(true, 20).find("is unknown"), std::string::npos);  // 2 % and no more
    EXPECT_NE(of(true, 21).find("is unknown"), std::string::npos);
    EXPECT_NE(of(true, 21).find("not all of the stream could be read"), std::string::npos);
    EXPECT_NE(of(false, 0).find("no answers were captured"), std::string::npos);
}

TEST(Figures, octets_of_a_message_that_has_only_begun_are_no_responses) {
    const tui::ModelState state;
    metrics::FlowSnapshot flow;
    flow.payload_bytes = 8192;
    flow.last_ns = 1;
    const auto labels = [&] {
        std::string all;
        for (const FlowFigure& figure : flow_figures({state, &flow, nullptr, {}}, ascii_letters))
            all += figure.label + ',';
        return all;
    };
    EXPECT_NE(labels().find("responses,"), std::string::npos);
    EXPECT_EQ(labels().find("unfinished,"), std::string::npos);
    flow.messages_mean = 1;
    EXPECT_NE(labels().find("unfinished,"), std::string::npos);
    EXPECT_EQ(labels().find("responses,"), std::string::npos);
}

TEST(Charts, say_why_there_is_nothing_to_see) {
    tui::ModelState state;
    state.flow_id = 1;
    state.feed.kind = SourceKind::daemon;
    EXPECT_NE(drawn(state, draw_states_chart, 120, 10).find("no interval with traffic yet"), std::string::npos);
    EXPECT_NE(drawn(state, draw_sequence_chart, 80, 10).find("figures, not frames"), std::string::npos);
    EXPECT_NE(drawn(state, draw_latency_chart, 120, 10).find("no operation was measured"), std::string::npos);
    Life{{of_states({{State::transmit_new, 1}})}}.into(state);
    EXPECT_NE(drawn(state, draw_outstanding_chart, 80, 10).find("nothing was outstanding"), std::string::npos);
    state.feed.has_packets = true;
    EXPECT_NE(drawn(state, draw_sequence_chart, 80, 10).find("not been looked at"), std::string::npos);
    metrics::FlowSnapshot flow;
    flow.id = 1;
    state.trace.follow(flow);
    EXPECT_NE(drawn(state, draw_sequence_chart, 80, 10).find("no frame of this flow is kept"), std::string::npos);
}

TEST(Wrap, keeps_figures_and_units_together) {
    EXPECT_EQ(wrapped("a median of 14 ms, 99 % within", 14),
              (std::vector<std::string>{"a median of", "14 ms, 99 %", "within"}));
    EXPECT_EQ(wrapped("", 10), std::vector<std::string>{});
    EXPECT_EQ(wrapped("antidisestablishment is long", 10),
              (std::vector<std::string>{"antidisestablishment", "is long"}));
}

}  // namespace
}  // namespace tui
