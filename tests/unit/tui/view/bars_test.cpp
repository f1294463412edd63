// Sparklines and bars of states: glyph by glyph.
#include <gtest/gtest.h>

#include "tests/unit/tui/view/screens.h"
#include "tui/view/sparkline.h"
#include "tui/view/state_bar.h"

namespace tui {
namespace {

/// A line of `width` columns with what `draw` puts there.
struct Line {
    explicit Line(int width, const Letters& letters = utf8_letters)
        : grid(width, 1), canvas{state, letters, grid, drawn}, pane(canvas, {0, 0, width, 1}) {}
    std::string text() const {
        std::string plain = grid.plain();
        plain.pop_back();
        return plain;
    }
    ModelState state;
    Grid grid;
    Drawn drawn;
    Canvas canvas;
    Pane pane;
};

std::deque<Pulse> pulses_of(std::initializer_list<std::uint64_t> packets) {
    std::deque<Pulse> pulses;
    for (const std::uint64_t count : packets) {
        pulses.emplace_back();
        pulses.back().length_ns = 1'000'000'000;
        pulses.back().packets = count;
    }
    return pulses;
}

TEST(Sparkline, is_as_high_as_its_greatest) {
    Line line(10);
    // In eighths of 80, upwards: what is not nothing is seen.
    draw_sparkline(line.pane, 0, 0, 10, pulses_of({0, 1, 10, 11, 40, 80}), &Pulse::packets, Role::chart);
    EXPECT_EQ(line.text(), "     ▁▁▂▄█");
    Line ascii(6, ascii_letters);
    draw_sparkline(ascii.pane, 0, 0, 6, pulses_of({0, 1, 10, 11, 40, 80}), &Pulse::packets, Role::chart);
    EXPECT_EQ(ascii.text(), " __.-#");
}

TEST(Sparkline, shows_the_newest_and_measures_them_alone) {
    Line line(3);
    draw_sparkline(line.pane, 0, 0, 3, pulses_of({1'000'000, 2, 4, 8}), &Pulse::packets, Role::chart);
    EXPECT_EQ(line.text(), "▂▄█");
}

TEST(Sparkline, is_of_rates_where_intervals_differ) {
    auto pulses = pulses_of({100, 50});
    pulses[1].length_ns = 500'000'000;
    Line line(2);
    draw_sparkline(line.pane, 0, 0, 2, pulses, &Pulse::packets, Role::chart);
    EXPECT_EQ(line.text(), "██");
    pulses[1].length_ns = 0;
    draw_sparkline(line.pane, 0, 0, 2, pulses, &Pulse::packets, Role::chart);
    EXPECT_EQ(line.text(), "█");
}

TEST(Sparkline, has_the_colour_of_what_went_wrong) {
    auto pulses = pulses_of({8, 8, 8, 8});
    pulses[1].ce = 1;
    pulses[2].naks = 1;
    pulses[3].dropped = 1;
    Line line(4);
    draw_sparkline(line.pane, 0, 0, 4, pulses, &Pulse::packets, Role::chart);
    EXPECT_EQ(line.grid.at(0, 0).style.role, Role::chart);
    EXPECT_EQ(line.grid.at(1, 0).style.role, Role::warning);
    EXPECT_EQ(line.grid.at(2, 0).style.role, Role::bad);
    EXPECT_EQ(line.grid.at(3, 0).style.role, Role::bad);
}

metrics::StateTimes times_of(std::initializer_list<std::pair<metrics::State, std::uint64_t>> given) {
    metrics::StateTimes times{};
    for (const auto& [state, ns] : given) times[metrics::index_of(state)] = ns;
    return times;
}

TEST(StateBar, has_every_state_by_its_share) {
    using metrics::State;
    const auto times = times_of({{State::transmit_new, 30}, {State::ack_window, 50}, {State::application_idle, 20}});
    Line line(10);
    draw_state_bar(line.pane, 0, 0, 10, times, false);
    EXPECT_EQ(line.text(), "TTTWWWWW..");
    EXPECT_EQ(line.grid.at(0, 0).style.role, role_of(State::transmit_new));
    EXPECT_EQ(line.grid.at(3, 0).style.role, role_of(State::ack_window));
    Line idle(10);
    draw_state_bar(idle.pane, 0, 0, 10, times, true);
    EXPECT_EQ(idle.text(), "TTTWWWWW..");
    EXPECT_EQ(idle.grid.at(0, 0).style.role, Role::dim);
    Line nothing(10);
    draw_state_bar(nothing.pane, 0, 0, 10, {}, false);
    EXPECT_EQ(nothing.text(), "");
}

TEST(StateBar, legend_begins_with_what_is_bad) {
    using metrics::State;
    const auto letters = times_of({{State::transmit_new, 3},
                                   {State::ack_window, 5},
                                   {State::rnr_wait, 1},
                                   {State::application_in_flight, 9},
                                   {State::application_idle, 4}});
    Line line(64);
    EXPECT_EQ(draw_state_legend(line.pane, 0, 0, 64, letters), 12 + 14 + 13 + 8 + 16);
    EXPECT_EQ(line.text(), "N rnr wait  W ack window  a in flight  . idle  T transmit new");
    // Whole words or none, and a shorter one where a longer has no room.
    Line narrow(34);
    draw_state_legend(narrow.pane, 0, 0, 34, letters);
    EXPECT_EQ(narrow.text(), "N rnr wait  W ack window  . idle");
}

TEST(StateBar, legend_is_of_the_letters_that_are_drawn) {
    using metrics::State;
    // Of ten columns, a hundredth has none.
    metrics::StateTimes letters{};
    add_state_letters(letters, 10, times_of({{State::recover_nak, 1}, {State::nic_stall, 99}}));
    add_state_letters(letters, 10, times_of({{State::application_idle, 7}}));
    EXPECT_EQ(letters, times_of({{State::nic_stall, 10}, {State::application_idle, 10}}));
}

}  // namespace
}  // namespace tui
