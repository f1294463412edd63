// What has no commands: packets of IPoIB, streams and datagrams of rsockets, as lines and fields. Expected is what
// pcaps/make/upper_captures.py puts into the captures, and what tshark prints of them.
#include <algorithm>
#include <gtest/gtest.h>
#include <sstream>

#include "dissect/dissector.h"
#include "dissect/output/text_command.h"
#include "dissect/upper_message.h"
#include "tests/unit/upper/found_commands.h"

namespace upper_test {
namespace {

/// The line of each message, with single spaces, after the number of its frame.
class LineCollector final : public dissect::Sink {
public:
    void on_frame(const wire::Frame&, const dissect::Dissection&) override {}
    void on_unit(const dissect::Unit&) override {}
    void on_message(const dissect::UpperMessage& message) override {
        std::string line;
        dissect::output::text::command(line, message);
        if (line.empty()) return;
        std::string text = std::to_string(message.frame.number) + ":";
        std::istringstream words(line);
        for (std::string word; words >> word;) text += " " + word;
        lines.push_back(text);
        const dissect::Dissection& d = message.dissection;
        for (unsigned i = 0; i < d.layer_count; ++i) layers.push_back(d.layers[i].id);
    }
    std::vector<std::string> lines;
    std::vector<dissect::LayerId> layers;
};

LineCollector lines_of(const Frames& frames) {
    LineCollector collector;
    upper::Reader reader({}, &collector, nullptr);
    dissect::DissectorOptions dissecting;
    dissecting.parse.verify_crc = false;
    dissect::Dissector dissector(dissecting);
    for (const NumberedFrame& one : frames) dissector.dissect(one.kept.frame(one.number), reader);
    dissector.finish(reader);
    reader.finish();
    return collector;
}

TEST(Ipoib, datagrams_and_connected_mode) {
    const LineCollector found = lines_of(load("made-erf-ipoib.pcap"));
    const std::vector<std::string> expected{
        "1: IPoIB ARP who has 10.10.0.2 tell 10.10.0.1 at qp 0x000048 gid fe80::2:c903:0:1",
        "2: IPoIB ARP 10.10.0.2 is at qp 0x000049 gid fe80::2:c903:0:2",
        "3: IPoIB IPv4 10.10.0.1 > 10.10.0.2 ICMP len 84",
        "4: IPoIB IPv4 10.10.0.2 > 10.10.0.1 ICMP len 84",
        "5: IPoIB IPv6 fe80::200:2c9:300:1 > fe80::200:2c9:300:2 UDP 40001 > 5001 len 148",
        "6: IPoIB IPv4 10.10.0.1 > 10.10.0.2 TCP 40002 > 22 len 40",
        "12: IPoIB IPv4 10.10.0.1 > 10.10.0.2 UDP 40003 > 5001 len 3028",
        "14: IPoIB IPv6 fe80::200:2c9:300:2 > fe80::200:2c9:300:1 TCP 22 > 40002 len 60",
    };
    EXPECT_EQ(found.lines, expected);
}

/// The packet inside is dissected on.
TEST(Ipoib, the_packet_inside) {
    Frames frames = load("made-erf-ipoib.pcap");
    frames.resize(6);
    frames.erase(frames.begin(), frames.begin() + 4);
    using enum dissect::LayerId;
    EXPECT_EQ(lines_of(frames).layers, (std::vector{ipoib_packet, ipv6, udp, ipoib_packet, ipv4, tcp}));
}

/// Without the set-up, three packets show the protocol; here there are two, and the user names it.
TEST(Ipoib, named_by_the_user) {
    Frames frames = load("made-erf-ipoib.pcap");
    frames.erase(frames.begin(), frames.begin() + 10);
    EXPECT_TRUE(lines_of(frames).lines.empty());
    LineCollector collector;
    upper::ReaderOptions options;
    options.assignments.push_back({true, 0x152, upper::find_protocol("ipoib")});
    upper::Reader reader(options, &collector, nullptr);
    dissect::Dissector dissector{dissect::DissectorOptions{}};
    for (const NumberedFrame& one : frames) dissector.dissect(one.kept.frame(one.number), reader);
    reader.finish();
    EXPECT_EQ(collector.lines.size(), 1u);  // that came after the queue pairs were paired
}

TEST(Ipoib, datagrams_of_others_are_none) {
    for (const char* name : {"rxe-ud-pingpong.pcap", "rxe-ud-send-lat-64.pcap", "rxe-mckey.pcap"})
        EXPECT_TRUE(lines_of(load(name)).lines.empty()) << name;
}

const std::vector<std::string> rsocket_lines{
    "6: rsockets data 3000 window 1096",
    "9: rsockets data 1096 window 0",
    "11: rsockets credits 384 window 4096",
    "13: rsockets data 100 window 3996",
    "15: rsockets data 200 window 3896",
    "17: rsockets credits 400 window 3896",
    "19: rsockets keep alive",
    "21: rsockets shutdown",
    "23: rsockets disconnect",
    "30: rsockets data 1000 window 3096",
    "32: rsockets credits 384 window 7192",
    "34: rsockets data 200 window 3896",
    "36: rsockets data 300 window 3596",
    "38: rsockets data 400 window 3196",
    "39: rsockets datagram from 192.0.2.2 port 5000 len 64",
};

TEST(Rsockets, streams_and_datagrams) { EXPECT_EQ(lines_of(load("made-rsocket.pcap")).lines, rsocket_lines); }

/// rstream writes 4 KiB 50 times each way in pieces of 2 KiB, after 16 bytes of greeting each way.
TEST(Rsockets, what_rstream_sent) {
    const std::vector<std::string> lines = lines_of(load("rxe-rstream.pcap")).lines;
    EXPECT_EQ(lines.size(), 205u);
    const auto count = [&](const std::string& text) {
        return std::count_if(lines.begin(), lines.end(),
                             [&](const std::string& line) { return line.find(text) != std::string::npos; });
    };
    EXPECT_EQ(count("rsockets data 16 "), 2);
    EXPECT_EQ(count("rsockets data 2048 "), 200);
    EXPECT_EQ(count("rsockets credits 384 "), 2);
    EXPECT_EQ(count("rsockets disconnect"), 1);
    EXPECT_EQ(lines_of(as_infiniband(load("rxe-rstream.pcap"))).lines.size(), 205u);
}

/// Without the set-up, four parts of a stream show the protocol, and there is no window.
TEST(Rsockets, a_capture_that_begins_in_the_middle) {
    Frames frames = load("rxe-rstream.pcap");
    frames.erase(frames.begin(), frames.begin() + 60);
    const std::vector<std::string> lines = lines_of(frames).lines;
    EXPECT_GT(lines.size(), 170u);
    EXPECT_NE(lines.front().find("rsockets data 2048"), std::string::npos);
    EXPECT_EQ(lines.front().find("window"), std::string::npos);
}

}  // namespace
}  // namespace upper_test
