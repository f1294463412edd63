// Views of one flow, of events, packets and answers: golden grids of real captures.
#include <algorithm>
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/unit/tui/charts/stage.h"

namespace tui {
namespace {

using support::differs_from_golden;

struct Shot {
    const char* name;
    const char* capture;
    std::uint64_t interval_ms;
    int width;
    int height;
    bool utf8;
};

std::ostream& operator<<(std::ostream& out, const Shot& shot) { return out << shot.name; }

class FlowView : public testing::TestWithParam<Shot> {};

TEST_P(FlowView, is_golden) {
    const Shot& shot = GetParam();
    Stage stage(shot.capture, shot.interval_ms);
    stage.open_busiest();
    const Grid grid = stage.draw(draw_flow, shot.width, shot.height, shot.utf8 ? utf8_letters : ascii_letters);
    EXPECT_EQ(differs_from_golden(std::string("flow-") + shot.name + ".txt", grid.plain()), "");
}

// Heights are those of 24, 40 and 60 rows without header and footer.
INSTANTIATE_TEST_SUITE_P(
    Captures, FlowView,
    testing::Values(Shot{"loss-after-tap-80", "rxe-rxdrop1pct-write-bw.pcap.gz", 20, 80, 19, true},
                    Shot{"loss-after-tap-80-ascii", "rxe-rxdrop1pct-write-bw.pcap.gz", 20, 80, 19, false},
                    Shot{"loss-after-tap-120", "rxe-rxdrop1pct-write-bw.pcap.gz", 20, 120, 35, true},
                    Shot{"loss-after-tap-200", "rxe-rxdrop1pct-write-bw.pcap.gz", 20, 200, 55, true},
                    Shot{"loss-before-tap-120", "rxe-loss1pct-send-bw.pcap.gz", 5, 120, 35, true},
                    Shot{"rnr-80", "rxe-verbs-rnr.pcap", 50, 80, 19, true},
                    Shot{"rnr-120-ascii", "rxe-verbs-rnr.pcap", 50, 120, 35, false},
                    Shot{"ecn-120", "rxe-ecn-ce-write-bw.pcap.gz", 10, 120, 35, true},
                    Shot{"read-120", "rxe-read-bw-64k.pcap", 10, 120, 35, true},
                    Shot{"read-loss-200", "rxe-rxdrop2pct-read-bw.pcap.gz", 20, 200, 55, false},
                    Shot{"iwarp-loss-80", "siw-loss1pct-send-bw.pcap", 10, 80, 19, true},
                    Shot{"iwarp-loss-120", "siw-loss1pct-send-bw.pcap", 10, 120, 35, true},
                    Shot{"iwarp-loss-200-ascii", "siw-loss1pct-send-bw.pcap", 10, 200, 55, false},
                    Shot{"iwarp-terminate-80", "siw-verbs-badrkey-w.pcap", 5, 80, 19, true}),
    [](const auto& test) {
        std::string name = test.param.name;
        std::replace(name.begin(), name.end(), '-', '_');
        return name;
    });

TEST(FlowView, the_opposite_direction_answers) {
    Stage stage("rxe-read-bw-64k.pcap", 10);
    stage.open_busiest();
    stage.press(U'o');
    EXPECT_EQ(differs_from_golden("flow-read-opposite-80.txt", stage.draw(draw_flow, 80, 19).plain()), "");
}

TEST(FlowView, a_chart_fills_the_screen) {
    Stage stage("rxe-rxdrop1pct-write-bw.pcap.gz", 20);
    stage.open_busiest();
    stage.press(Named::enter);
    const std::array<const char*, chart_count> names{"states", "latency", "sequence", "outstanding"};
    for (const char* const name : names) {
        EXPECT_EQ(differs_from_golden(fmt::format("flow-spread-{}.txt", name), stage.draw(draw_flow, 100, 30).plain()),
                  "");
        stage.press(Named::right);
    }
}

TEST(FlowView, what_is_wrong_has_a_colour) {
    Stage stage("rxe-rxdrop1pct-write-bw.pcap.gz", 20);
    stage.open_busiest();
    EXPECT_EQ(differs_from_golden("flow-styles-120.txt", stage.draw(draw_flow, 120, 35).styles()), "");
}

TEST(EventsView, is_golden) {
    Stage losses("rxe-rxdrop1pct-write-bw.pcap.gz", 20);
    losses.press(U'4');
    EXPECT_EQ(differs_from_golden("events-80.txt", losses.draw(draw_events, 80, 19).plain()), "");
    EXPECT_EQ(differs_from_golden("events-120-ascii.txt", losses.draw(draw_events, 120, 19, ascii_letters).plain()),
              "");
    EXPECT_EQ(differs_from_golden("events-80-styles.txt", losses.draw(draw_events, 80, 19).styles()), "");
    Stage terminate("siw-verbs-badrkey-w.pcap", 5);
    terminate.press(U'4');
    EXPECT_EQ(differs_from_golden("events-terminate-120.txt", terminate.draw(draw_events, 120, 12).plain()), "");
    Stage refused("rxe-cm-reject.pcap", 5);
    refused.press(U'4');
    EXPECT_EQ(differs_from_golden("events-rejected-120.txt", refused.draw(draw_events, 120, 6).plain()), "");
    Stage quiet("rxe-send-lat-64.pcap", 10'000);
    // How its two connections ended, and nothing else.
    for (const EventLine& line : quiet.model.state().events.lines())
        EXPECT_EQ(describe(line), "connection ended: DREQ");
    EXPECT_EQ(quiet.model.state().events.lines().size(), 2u);
}

TEST(PacketsView, is_golden) {
    Stage stage("rxe-verbs-rnr.pcap", 50);
    stage.press(U'5');
    for (int i = 0; i < 18; ++i) stage.press(Named::up);
    EXPECT_EQ(differs_from_golden("packets-80.txt", stage.draw(draw_packets, 80, 19).plain()), "");
    EXPECT_EQ(differs_from_golden("packets-80-styles.txt", stage.draw(draw_packets, 80, 19).styles()), "");
    EXPECT_EQ(differs_from_golden("packets-200-ascii.txt", stage.draw(draw_packets, 200, 30, ascii_letters).plain()),
              "");
    stage.press(Named::enter);
    EXPECT_EQ(differs_from_golden("packets-details-80.txt", stage.draw(draw_packets, 80, 19).plain()), "");
    EXPECT_EQ(differs_from_golden("packets-details-200.txt", stage.draw(draw_packets, 200, 55).plain()), "");
    for (int i = 0; i < 40; ++i) stage.press(Named::down);
    EXPECT_EQ(differs_from_golden("packets-details-scrolled.txt", stage.draw(draw_packets, 80, 19).plain()), "");
}

TEST(AnswersView, is_golden) {
    Stage stage("rxe-rxdrop1pct-write-bw.pcap.gz", 20);
    stage.open_busiest();
    stage.press(U'e');
    EXPECT_EQ(differs_from_golden("answers-100.txt", stage.draw(draw_answers, 100, 35).plain()), "");
    EXPECT_EQ(differs_from_golden("answers-80-ascii.txt", stage.draw(draw_answers, 80, 19, ascii_letters).plain()), "");
    for (int i = 0; i < 12; ++i) stage.press(Named::down);
    EXPECT_EQ(differs_from_golden("answers-80-scrolled.txt", stage.draw(draw_answers, 80, 19).plain()), "");
    Stage well("rxe-send-bw-64k.pcap", 100);
    well.press(U'e');
    EXPECT_EQ(differs_from_golden("answers-well-120.txt", well.draw(draw_answers, 120, 35).plain()), "");
}

}  // namespace
}  // namespace tui
