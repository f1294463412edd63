// What screens say of captures, against what tshark and the applications say.
#include <gtest/gtest.h>
#include <sstream>

#include "tests/unit/tui/view/screens.h"

namespace tui {
namespace {

using support::FakeFeed;

/// The words of the first line that has `part` in it.
std::vector<std::string> words_of(const Screen& screen, const std::string& part) {
    std::istringstream lines(screen.draw(160, 24, ascii_letters).grid.plain());
    for (std::string line; std::getline(lines, line);) {
        if (line.find(part) == std::string::npos) continue;
        std::istringstream words(line);
        std::vector<std::string> found;
        for (std::string word; words >> word;) found.push_back(word);
        return found;
    }
    return {};
}

Settings with(std::vector<std::string> columns, Window window) {
    Settings settings;
    settings.columns = std::move(columns);
    settings.window = window;
    return settings;
}

/// tshark -r ... -T fields -e infiniband.bth.psn: QP 0x20 got 1,634 packets of 800 PSNs, that is 834 again; 8 NAKs
/// came back. ib_write_bw: 50 messages. The JSON next to the capture: nothing but loss was done to it.
TEST(Truth, a_flow_that_lost_packets) {
    Screen screen(FakeFeed::of_capture("rxe-rxdrop1pct-write-bw.pcap.gz", 500'000'000),
                  with({"flow", "message_count", "resent", "nak_rnr", "ce_cnp", "packets"}, Window::total));
    screen.show_all();
    EXPECT_EQ(words_of(screen, "0x15 > "),
              (std::vector<std::string>{"!192.0.2.2/0x15", ">", "192.0.2.1/0x20", "50", "834", "8/0", "0/0", "1634"}));
}

/// tshark -z io,stat,0.5: 1,285 frames and 1,340,914 octets from 2.0 s to 2.5 s; none in the next.
TEST(Truth, rates_of_an_interval) {
    Screen screen(FakeFeed::of_capture("rxe-rxdrop1pct-write-bw.pcap.gz", 500'000'000));
    screen.show(5);
    const auto words = words_of(screen, "packets/s");
    ASSERT_GE(words.size(), 2U);
    const auto packets = std::find(words.begin(), words.end(), "packets/s");
    ASSERT_NE(packets, words.end());
    EXPECT_EQ(*(packets - 1), "2.57k");
    const auto all = std::find(words.begin(), words.end(), "all");
    ASSERT_LT(all + 1, words.end());
    EXPECT_EQ(*(all + 1), "21.5");
    screen.show(6);
    const auto none = words_of(screen, "packets/s");
    EXPECT_EQ(*(std::find(none.begin(), none.end(), "packets/s") - 1), "0");
}

/// tshark: ip.dsfield.ecn == 3 in 40 packets, all to QP 0x22; ip.dsfield.ecn != 0 in 855 over UDP port 4791, 5 of them
/// to QP 1, which is no flow, and 800 to QP 0x22. No CNP.
TEST(Truth, marks_of_a_flow) {
    Screen screen(FakeFeed::of_capture("rxe-ecn-ce-write-bw.pcap.gz", 500'000'000), with({}, Window::total));
    screen.show_all();
    screen.go(View::congestion);
    const auto total = words_of(screen, "CE marks");
    ASSERT_GE(total.size(), 8U);
    EXPECT_EQ(total[2], "40");
    // 40 of 850: 4.71 %.
    EXPECT_EQ((std::vector<std::string>(total.end() - 6, total.end())),
              (std::vector<std::string>{"4.71", "%", "of", "850", "ECT", "packets"}));
    EXPECT_EQ(words_of(screen, "CNPs  ")[1], "0");
    const auto flow = words_of(screen, "192.0.2.1/0x22");
    ASSERT_GE(flow.size(), 6U);
    EXPECT_EQ(flow[3], "40");
    EXPECT_EQ(flow[4], "5%");  // of 800
    EXPECT_EQ(flow[5], "0");
}

/// tshark -Y 'frame.number in {95, 1421}': 02:14:21.114955, the first packet after a hole, and 02:14:21.587418, the
/// DREQ. Figures were read at 02:14:20.140 and a second later.
TEST(Truth, events_have_the_times_of_their_frames_and_stand_in_their_order) {
    Screen screen(FakeFeed::of_capture("rxe-loss1pct-send-bw.pcap.gz", 1'000'000'000));
    screen.show_all();
    screen.go(View::events);
    EXPECT_EQ(words_of(screen, "gap of 1 packet").front(), "!02:14:21.114");
    EXPECT_EQ(words_of(screen, " 1421").front(), "02:14:21.587");
    const std::string text = screen.draw(160, 24, ascii_letters).grid.plain();
    EXPECT_LT(text.rfind("gap"), text.find("connection ended: DREQ"));
    // Where nobody has the frames, what is known is when figures were read.
    FakeFeed bare = FakeFeed::of_capture("rxe-loss1pct-send-bw.pcap.gz", 1'000'000'000);
    bare.frames.clear();
    const std::int64_t begin = bare.readings.front()->start_ns;
    Screen other(std::move(bare));
    other.show_all();
    other.go(View::events);
    EXPECT_EQ(begin / 1'000'000 % 1000, 140);
    auto gap = words_of(other, "gap of 1 packet");
    gap.resize(3);
    EXPECT_EQ(gap, (std::vector<std::string>{"!02:14:20", "-", "21"}));
    const std::string there = other.draw(160, 24, ascii_letters).grid.plain();
    EXPECT_LT(there.rfind("gap"), there.find("connection ended: DREQ"));
}

/// pcaps/made-pause.json: one PAUSE, one that ends it; PFC for 3 and 5, an end for 3, then all eight with 1 to 8
/// quanta.
TEST(Truth, pauses_of_a_capture) {
    Screen screen(FakeFeed::of_capture("made-pause.pcap", 1'000'000'000), with({}, Window::total));
    screen.show_all();
    screen.go(View::congestion);
    EXPECT_EQ(words_of(screen, "if 0"),
              (std::vector<std::string>{"if", "0",      "1",  "2",  "1:", "1q",     "1:", "2q", "1:", "3q",
                                        "2:", "65.5kq", "1:", "5q", "2:", "1.01kq", "1:", "7q", "1:", "8q"}));
}

}  // namespace
}  // namespace tui
