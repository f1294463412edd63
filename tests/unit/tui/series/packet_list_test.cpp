// Packets: lines and trees are those of `rdmascope dump`, whose golden texts a person has read.
#include "tui/model/packet_list.h"

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

#include "tests/support/fake_feed.h"
#include "tests/support/pcaps.h"

namespace tui {
namespace {

using support::FakeFeed;

const dissect::FieldRegistry& registry() {
    static const dissect::FieldRegistry fields;
    return fields;
}

/// A line of tests/golden/TESTLIST.
struct Golden {
    std::string name;
    std::string capture;
    std::vector<std::string> flags;
    std::string expression;  ///< of -Y
    std::string text;
};

std::string golden_folder() { return support::pcaps() + "/../tests/golden/"; }

std::vector<Golden> goldens() {
    std::vector<Golden> all;
    std::ifstream list(golden_folder() + "TESTLIST");
    for (std::string line; std::getline(list, line);) {
        if (line.empty() || line.front() == '#') continue;
        Golden golden;
        if (const std::size_t quote = line.find('"'); quote != std::string::npos) {
            golden.expression = line.substr(quote + 1, line.rfind('"') - quote - 1);
            line.erase(quote);
        }
        std::istringstream words(line);
        words >> golden.name >> golden.capture;
        for (std::string flag; words >> flag;) golden.flags.push_back(flag);
        std::ifstream file(golden_folder() + "expected/" + golden.name + ".txt");
        golden.text.assign(std::istreambuf_iterator<char>(file), {});
        all.push_back(std::move(golden));
    }
    return all;
}

/// As the golden texts were made.
class Packets : public testing::Test {
protected:
    void SetUp() override {
        if (const char* const zone = std::getenv("TZ")) before_ = zone;
        ::setenv("TZ", "UTC", 1);
        ::tzset();
    }
    void TearDown() override {
        if (before_)
            ::setenv("TZ", before_->c_str(), 1);
        else
            ::unsetenv("TZ");
        ::tzset();
    }

private:
    std::optional<std::string> before_;
};

FakeFeed whole(const std::string& capture) {
    FakeFeed feed = FakeFeed::of_capture(capture, 1'000'000'000);
    feed.show_all();
    return feed;
}

std::string text_of(const PacketList& list) {
    std::string text;
    for (const PacketLine& line : list.lines()) text += line.text + '\n';
    return text;
}

TEST_F(Packets, have_the_lines_of_dump) {
    std::size_t compared = 0;
    for (const Golden& golden : goldens()) {
        const bool counted = golden.flags.size() == 3 && golden.flags[1] == "-c";
        if (golden.flags.empty() || golden.flags[0] != "-n" || (golden.flags.size() != 1 && !counted)) continue;
        FakeFeed feed = whole(golden.capture);
        PacketList list(registry());
        list.advance(feed);
        const std::string text = text_of(list);
        // With -c, dump ends before the capture does.
        EXPECT_EQ(counted ? text.substr(0, golden.text.size()) : text, golden.text) << golden.name;
        ++compared;
    }
    EXPECT_GE(compared, 40u);
}

TEST_F(Packets, are_chosen_as_by_dump_Y) {
    std::size_t compared = 0;
    for (const Golden& golden : goldens()) {
        if (golden.flags != std::vector<std::string>{"-n", "-Y"} || golden.name == "filter-wrong") continue;
        FakeFeed feed = whole(golden.capture);
        PacketList list(registry());
        ASSERT_TRUE(list.filter(golden.expression));
        for (std::size_t done = 0; done < feed.frames.size(); done += 100) list.advance(feed, 100);
        EXPECT_EQ(text_of(list), golden.text);
        ++compared;
    }
    EXPECT_GE(compared, 1u);
}

TEST_F(Packets, a_wrong_filter_changes_nothing_and_says_why) {
    FakeFeed feed = whole("rxe-cm-reject.pcap");
    PacketList list(registry());
    ASSERT_TRUE(list.filter("infiniband.bth.opcode == 0x64"));
    list.advance(feed);
    const std::size_t before = list.lines().size();
    EXPECT_GT(before, 0u);
    const auto wrong = list.filter("infiniband.bth.opcod == 3");
    ASSERT_FALSE(wrong);
    EXPECT_THAT(wrong.error().message, testing::HasSubstr("infiniband.bth.opcode"));
    EXPECT_EQ(wrong.error().message.find('\n'), std::string::npos) << "it is shown in a single line";
    EXPECT_EQ(list.lines().size(), before);
    // Known to dump, where flows are measured while packets are printed.
    const auto measured = list.filter("rdma.retransmission");
    ASSERT_FALSE(measured);
    EXPECT_NE(measured.error().text().find("rdma.retransmission is a field of dump"), std::string::npos);
    ASSERT_TRUE(list.filter(""));
    EXPECT_TRUE(list.lines().empty());
    EXPECT_TRUE(list.advance(feed));
}

/// The time since a frame that was displayed before depends on what is.
std::string without_displayed(const std::string& text) {
    std::string kept;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (line.find("previous displayed frame") == std::string::npos) kept += line + '\n';
    return kept;
}

TEST_F(Packets, have_the_details_of_dump_V) {
    std::size_t compared = 0;
    for (const Golden& golden : goldens()) {
        if (golden.flags.size() < 2 || golden.flags[1] != "-V") continue;
        FakeFeed feed = whole(golden.capture);
        PacketList list(registry());
        for (std::size_t at = 0; at < golden.text.size();) {
            const std::size_t end = std::min(golden.text.find("\n\n", at), golden.text.size() - 1) + 1;
            const std::string expected = golden.text.substr(at, end - at);
            at = end + 1;
            const std::uint64_t frame = std::strtoull(expected.c_str() + 6, nullptr, 10);
            std::string text;
            for (const std::string& line : list.details(feed, frame)) text += line + '\n';
            // The list shows RDMA alone; --all shows every frame.
            if (golden.expression.empty() && golden.flags.size() == 2)
                EXPECT_EQ(text, expected) << golden.name;
            else
                EXPECT_EQ(without_displayed(text), without_displayed(expected)) << golden.name;
            ++compared;
        }
    }
    EXPECT_GE(compared, 60u);
}

TEST_F(Packets, details_of_what_is_not_there) {
    FakeFeed feed = whole("rxe-cm-reject.pcap");
    const PacketList list(registry());
    EXPECT_TRUE(list.details(feed, 0).empty());
    EXPECT_FALSE(list.details(feed, 2).empty());
    EXPECT_TRUE(list.details(feed, 3).empty());
    feed.state.first_packet = 2;
    EXPECT_TRUE(list.details(feed, 1).empty());
    feed.state.has_packets = false;
    EXPECT_TRUE(list.details(feed, 2).empty());
}

TEST_F(Packets, what_is_wrong_has_a_colour) {
    FakeFeed feed = whole("rxe-rxdrop1pct-write-bw.pcap.gz");
    PacketList list(registry());
    list.advance(feed);
    std::size_t naks = 0;
    std::size_t again = 0;
    for (const PacketLine& line : list.lines()) {
        const bool nak = line.text.find("NAK") != std::string::npos;
        const bool repeat = line.text.find("retransmission") != std::string::npos;
        EXPECT_EQ(line.bad, nak || repeat) << line.text;
        naks += nak ? 1 : 0;
        again += repeat ? 1 : 0;
    }
    EXPECT_GT(naks, 0u);
    EXPECT_GT(again, naks);
    FakeFeed iwarp = whole("siw-verbs-badrkey-w.pcap");
    list.clear();
    list.advance(iwarp);
    for (const PacketLine& line : list.lines())
        EXPECT_EQ(line.bad, line.text.find("erminate") != std::string::npos) << line.text;
}

TEST_F(Packets, the_newest_are_kept) {
    FakeFeed feed = whole("rxe-send-bw-64.pcap");
    PacketList list(registry(), {}, 100);
    list.advance(feed);
    ASSERT_EQ(list.lines().size(), 100u);
    EXPECT_EQ(list.lines().back().frame, feed.state.last_packet);
    EXPECT_EQ(list.passed_over(), 0u);
    EXPECT_FALSE(list.advance(feed));
}

TEST_F(Packets, those_that_come_too_fast_are_passed_over_and_counted) {
    FakeFeed feed = whole("rxe-send-bw-64.pcap");  // 2054 frames
    feed.state.at_end = false;
    PacketList list(registry());
    feed.state.last_packet = 10;
    list.advance(feed, 20);
    feed.state.last_packet = 1'010;
    list.advance(feed, 20);
    EXPECT_EQ(list.passed_over(), 980u);
    EXPECT_EQ(list.lines().back().frame, 1'010u);
    // Some went before we came.
    feed.state.first_packet = 1'021;
    feed.state.last_packet = 1'025;
    list.advance(feed, 20);
    EXPECT_EQ(list.passed_over(), 990u);
    EXPECT_EQ(list.lines().back().frame, 1'025u);
}

TEST_F(Packets, with_a_filter_all_are_gone_through_unless_the_source_is_faster) {
    FakeFeed feed = whole("rxe-send-bw-64.pcap");
    feed.state.at_end = false;
    PacketList list(registry());
    ASSERT_TRUE(list.filter("frame.number == 15 || frame.number == 900"));
    for (int i = 0; i < 2'054 / 20 + 1; ++i) list.advance(feed, 20);
    ASSERT_EQ(list.lines().size(), 2u);
    EXPECT_EQ(list.passed_over(), 0u);
    // The source gains on us.
    ASSERT_TRUE(list.filter("frame.number == 15 || frame.number == 900"));
    feed.state.last_packet = 100;
    list.advance(feed, 20);
    feed.state.last_packet = 1'000;
    list.advance(feed, 20);
    EXPECT_EQ(list.passed_over(), 960u);
}

TEST_F(Packets, a_jump_back_in_time_begins_anew) {
    FakeFeed feed = whole("rxe-rping.pcap");
    PacketList list(registry());
    list.advance(feed);
    feed.state.last_packet = 20;
    feed.state.at_end = false;
    EXPECT_TRUE(list.advance(feed));
    EXPECT_EQ(list.lines().back().frame, 20u);
    EXPECT_LE(list.lines().size(), 20u);
}

TEST_F(Packets, a_source_without_frames_has_no_lines) {
    FakeFeed feed;
    PacketList list(registry());
    EXPECT_FALSE(list.advance(feed));
    EXPECT_TRUE(list.lines().empty());
}

}  // namespace
}  // namespace tui
