// Sequence numbers against time: the points are exactly the packets that tshark shows, and hand-made frames where no
// capture has the case.
#include "tui/model/sequence_trace.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <tuple>

#include "metrics/figures/address.h"
#include "tests/support/fake_feed.h"
#include "tests/support/pcaps.h"

namespace tui {
namespace {

using Kind = SequencePoint::Kind;
using support::FakeFeed;

/// Lines of `tshark -T fields`, by tabs; empty where there is no tshark.
std::vector<std::vector<std::string>> tshark(const std::string& capture, const std::string& fields) {
    std::string command =
        "tshark -n -r " + support::pcaps() + "/" + capture + " -o tcp.try_heuristic_first:TRUE -T fields";
    std::istringstream names(fields);
    for (std::string name; names >> name;) command += " -e " + name;
    command += " 2>/dev/null";
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
    std::string text;
    std::array<char, 4096> part;
    while (std::fgets(part.data(), static_cast<int>(part.size()), pipe.get()) != nullptr) text += part.data();
    std::vector<std::vector<std::string>> rows;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::vector<std::string> cells(1);
        for (const char c : line)
            if (c == '\t')
                cells.emplace_back();
            else
                cells.back() += c;
        rows.push_back(std::move(cells));
    }
    return rows;
}
std::uint64_t number(const std::string& text) { return std::strtoull(text.c_str(), nullptr, 0); }

/// The flow with the most packets.
const metrics::FlowSnapshot& busiest(const FakeFeed& feed) {
    const auto& flows = feed.readings.back()->total.flows;
    return *std::max_element(flows.begin(), flows.end(),
                             [](const auto& a, const auto& b) { return a.payload_bytes < b.payload_bytes; });
}

std::vector<SequencePoint> points_of(FakeFeed& feed, const metrics::FlowSnapshot& flow, std::size_t most = 50'000) {
    SequenceTrace trace;
    trace.follow(flow);
    while (trace.advance(feed, most)) {
    }
    return {trace.points().begin(), trace.points().end()};
}

/// What it was, whose numbers it has, at which frame, and where.
using Shape = std::tuple<char, bool, std::uint64_t, std::int64_t>;

std::multiset<Shape> shapes_of_roce(const std::vector<std::vector<std::string>>& rows,
                                    const metrics::FlowSnapshot& flow) {
    std::multiset<Shape> shapes;
    for (const auto& row : rows) {
        if (row.size() < 6 || row[2].empty()) continue;
        const std::uint64_t opcode = number(row[2]) & 0x1f;
        if (number(row[2]) > 0x1f) continue;  // RC alone
        const bool forward = row[1] == metrics::to_text(flow.source.address) && number(row[3]) == flow.destination.qpn;
        const bool backward = row[1] == metrics::to_text(flow.destination.address) && number(row[3]) == flow.source.qpn;
        if (!forward && !backward) continue;
        const auto psn = static_cast<std::int64_t>(number(row[4]));
        const bool response = opcode >= 0x0d && opcode <= 0x10;
        const bool acknowledges = opcode == 0x11 || opcode == 0x12;
        if (response)
            shapes.insert({'r', forward, number(row[0]), psn});
        else if (acknowledges && number(row[5]) >> 5 != 0)  // RNR NAK or NAK
            shapes.insert({'n', forward, number(row[0]), psn});
        else if (acknowledges)
            shapes.insert({'a', forward, number(row[0]), (psn + 1) & 0xffffff});
        else
            shapes.insert({'d', !forward, number(row[0]), psn});
    }
    return shapes;
}

class RoceCapture : public testing::TestWithParam<const char*> {};

TEST_P(RoceCapture, has_the_points_that_tshark_shows) {
    const auto rows = tshark(GetParam(),
                             "frame.number ip.src infiniband.bth.opcode infiniband.bth.destqp "
                             "infiniband.bth.psn infiniband.aeth.syndrome");
    if (rows.empty()) GTEST_SKIP() << "no tshark";
    auto feed = FakeFeed::of_capture(GetParam(), 1'000'000'000);
    feed.show_all();
    const metrics::FlowSnapshot& flow = busiest(feed);
    ASSERT_TRUE(flow.source.qpn.has_value());
    const auto expected = shapes_of_roce(rows, flow);
    std::multiset<Shape> found;
    std::multiset<Shape> responses;
    for (const SequencePoint& point : points_of(feed, flow)) {
        const std::int64_t psn = point.sequence & 0xffffff;
        switch (point.kind) {
            case Kind::data: found.insert({'d', point.reverse, point.frame, psn}); break;
            case Kind::repeated: {
                // What was sent again is a request or a response: tshark says which.
                const bool request = expected.contains({'d', point.reverse, point.frame, psn});
                found.insert({request ? 'd' : 'r', point.reverse, point.frame, psn});
                break;
            }
            case Kind::response: found.insert({'r', point.reverse, point.frame, psn}); break;
            case Kind::ack: found.insert({'a', point.reverse, point.frame, psn}); break;
            case Kind::nak: found.insert({'n', point.reverse, point.frame, psn}); break;
            case Kind::cnp: ADD_FAILURE() << "no CNP is in these captures"; break;
        }
    }
    EXPECT_GT(expected.size(), 10u);
    EXPECT_EQ(found, expected);
}

INSTANTIATE_TEST_SUITE_P(Captures, RoceCapture,
                         testing::Values("rxe-rxdrop1pct-write-bw.pcap.gz", "rxe-loss1pct-send-bw.pcap.gz",
                                         "rxe-verbs-rnr.pcap", "rxe-read-bw-64k.pcap", "rxe-read-bw-4k.pcap.gz",
                                         "rxe-rxdrop2pct-read-bw.pcap.gz", "rxe-verbs-atomic.pcap",
                                         "rxe-verbs-mix.pcap.gz", "rxe-reorder-write-bw.pcap.gz",
                                         "made-snap96-roce.pcap"));

class IwarpCapture : public testing::TestWithParam<const char*> {};

TEST_P(IwarpCapture, has_the_segments_that_tshark_shows) {
    const auto rows = tshark(GetParam(),
                             "frame.number ip.src tcp.srcport tcp.dstport tcp.seq tcp.len tcp.ack "
                             "tcp.analysis.duplicate_ack tcp.flags.reset");
    if (rows.empty()) GTEST_SKIP() << "no tshark";
    auto feed = FakeFeed::of_capture(GetParam(), 1'000'000'000);
    feed.show_all();
    const metrics::FlowSnapshot& flow = busiest(feed);
    using Segment = std::tuple<bool, std::uint64_t, std::int64_t, std::uint64_t>;
    std::set<Segment> data;
    std::set<Segment> acks;
    std::set<Segment> duplicates;
    std::map<bool, std::int64_t> highest;
    std::map<bool, std::int64_t> sent;
    for (const auto& row : rows) {
        if (row.size() < 9 || row[2].empty() || row[8] == "1" || row[8] == "True") continue;
        const auto port = [&](std::size_t at) { return static_cast<std::uint16_t>(number(row[at])); };
        const bool forward = row[1] == metrics::to_text(flow.source.address) && port(2) == flow.source.port &&
                             port(3) == flow.destination.port;
        const bool backward = row[1] == metrics::to_text(flow.destination.address) &&
                              port(2) == flow.destination.port && port(3) == flow.source.port;
        if (!forward && !backward) continue;
        const auto sequence = static_cast<std::int64_t>(number(row[4]));
        const auto ack = static_cast<std::int64_t>(number(row[6]));
        if (number(row[5]) != 0) data.insert({!forward, number(row[0]), sequence, number(row[5])});
        sent[!forward] = std::max(sent[!forward], sequence + static_cast<std::int64_t>(number(row[5])));
        // tshark counts those too that answer what was all acknowledged before (DSACK). RFC 5681, 2 (a), does not.
        if (!row[7].empty() && ack < sent[forward]) duplicates.insert({forward, number(row[0]), ack, 0});
        if (ack > highest[forward]) {
            highest[forward] = ack;
            acks.insert({forward, number(row[0]), ack, 0});
        }
    }
    std::set<Segment> found_data;
    std::set<Segment> found_acks;
    std::set<Segment> found_duplicates;
    for (const SequencePoint& point : points_of(feed, flow)) {
        const Segment segment{point.reverse, point.frame, point.sequence, point.length};
        if (point.kind == Kind::ack)
            found_acks.insert(segment);
        else if (point.kind == Kind::nak)
            found_duplicates.insert(segment);
        else
            found_data.insert(segment);
    }
    EXPECT_GT(data.size(), 10u);
    EXPECT_EQ(found_data, data);
    EXPECT_EQ(found_acks, acks);
    EXPECT_EQ(found_duplicates, duplicates);
}

INSTANTIATE_TEST_SUITE_P(Captures, IwarpCapture,
                         testing::Values("siw-loss1pct-send-bw.pcap", "siw-rxdrop2pct-read-bw.pcap.gz",
                                         "siw-gso-tcpdump-A.pcap", "siw-reorder-write-bw.pcap.gz",
                                         "siw-write-bw-bidir-4k-nocrc.pcap.gz", "siw-rping-crc.pcap",
                                         "siw-verbs-badrkey-w.pcap", "made-snap96-iwarp.pcap"));

// The truth about both captures is next to them: what was lost after the tap was sent again, and nothing else was.
TEST(SequenceTrace, what_was_sent_again_is_what_the_figures_count) {
    for (const char* const capture :
         {"rxe-rxdrop1pct-write-bw.pcap.gz", "rxe-write-bw-4k.pcap.gz", "siw-rxdrop2pct-read-bw.pcap.gz"}) {
        auto feed = FakeFeed::of_capture(capture, 1'000'000'000);
        feed.show_all();
        const metrics::FlowSnapshot& flow = busiest(feed);
        std::uint64_t repeated = 0;
        for (const SequencePoint& point : points_of(feed, flow))
            repeated += point.kind == Kind::repeated && !point.reverse ? 1 : 0;
        EXPECT_EQ(repeated, flow.retransmitted_packets) << capture;
    }
}

TEST(SequenceTrace, comes_to_the_same_in_small_steps) {
    for (const char* const capture : {"rxe-rxdrop1pct-write-bw.pcap.gz", "siw-loss1pct-send-bw.pcap"}) {
        auto feed = FakeFeed::of_capture(capture, 10'000'000);
        const metrics::FlowSnapshot flow = busiest(feed);
        SequenceTrace steps;
        steps.follow(flow);
        while (feed.next())
            while (steps.advance(feed, 7)) {
            }
        const auto whole = points_of(feed, flow);
        ASSERT_EQ(steps.points().size(), whole.size());
        for (std::size_t i = 0; i < whole.size(); ++i) {
            EXPECT_EQ(steps.points()[i].frame, whole[i].frame);
            EXPECT_EQ(steps.points()[i].sequence, whole[i].sequence);
            EXPECT_EQ(steps.points()[i].kind, whole[i].kind);
        }
    }
}

TEST(SequenceTrace, without_the_source_qpn_only_what_is_surely_its_own) {
    auto feed = FakeFeed::of_capture("rxe-write-bw-4k.pcap.gz", 1'000'000'000);
    feed.show_all();
    metrics::FlowSnapshot flow = busiest(feed);
    flow.source.qpn.reset();
    std::size_t data = 0;
    for (const SequencePoint& point : points_of(feed, flow)) {
        EXPECT_FALSE(point.kind == Kind::ack || point.kind == Kind::nak || point.reverse);
        ++data;
    }
    EXPECT_EQ(data, 800u);  // 200 messages of 4096 octets in packets of 1024
}

TEST(SequenceTrace, a_source_qpn_may_become_known_later) {
    auto feed = FakeFeed::of_capture("rxe-write-bw-4k.pcap.gz", 1'000'000'000);
    const metrics::FlowSnapshot paired = busiest(feed);
    metrics::FlowSnapshot unpaired = paired;
    unpaired.source.qpn.reset();
    SequenceTrace trace;
    EXPECT_FALSE(trace.follows(unpaired));
    trace.follow(unpaired);
    EXPECT_TRUE(trace.follows(unpaired));
    EXPECT_FALSE(trace.follows(paired));
    trace.follow(paired);
    EXPECT_TRUE(trace.follows(paired));
    trace.clear();
    EXPECT_FALSE(trace.follows(paired));
}

TEST(SequenceTrace, holds_the_newest_points) {
    auto feed = FakeFeed::of_capture("rxe-write-bw-4k.pcap.gz", 1'000'000'000);
    feed.show_all();
    const metrics::FlowSnapshot& flow = busiest(feed);
    const auto all = points_of(feed, flow);
    SequenceTrace trace(100);
    trace.follow(flow);
    trace.advance(feed);
    ASSERT_EQ(trace.points().size(), 100u);
    EXPECT_EQ(trace.points().back().frame, all.back().frame);
    EXPECT_EQ(trace.points().front().frame, all[all.size() - 100].frame);
    EXPECT_EQ(trace.flow(), flow.id);
    trace.clear();
    EXPECT_EQ(trace.flow(), 0u);
    EXPECT_TRUE(trace.points().empty());
    EXPECT_FALSE(trace.advance(feed));
    EXPECT_TRUE(trace.points().empty());
}

// ---- frames made by hand ----

class Frames {
public:
    /// RoCEv2 from 192.0.2.`from` to 192.0.2.`to`; IBTA vol. 1, A17.
    void roce(std::uint8_t from, std::uint8_t to, std::uint8_t opcode, std::uint32_t qp, std::uint32_t psn,
              std::vector<unsigned> more = {}) {
        std::vector<unsigned> udp{0xc0, 0, 0x12, 0xb7, 0, 0, 0, 0};
        std::vector<unsigned> bth{
            opcode,         0,        0xff, 0xff, 0, qp >> 16 & 255, qp >> 8 & 255, qp & 255, 0, psn >> 16 & 255,
            psn >> 8 & 255, psn & 255};
        bth.insert(bth.end(), more.begin(), more.end());
        bth.insert(bth.end(), 4, 0);  // ICRC
        udp[5] = static_cast<unsigned>(8 + bth.size());
        udp.insert(udp.end(), bth.begin(), bth.end());
        ip(from, to, 17, udp);
    }
    void tcp(std::uint8_t from, std::uint8_t to, std::uint32_t sequence, std::uint32_t ack, unsigned flags,
             unsigned octets) {
        const unsigned source = from == 1 ? 40'000 : 7'174;
        const unsigned destination = from == 1 ? 7'174 : 40'000;
        std::vector<unsigned> segment{source >> 8, source & 255, destination >> 8, destination & 255};
        for (const std::uint32_t word : {sequence, ack})
            for (const unsigned shift : {24U, 16U, 8U, 0U}) segment.push_back(word >> shift & 255);
        segment.insert(segment.end(), {0x50, flags, 1, 0, 0, 0, 0, 0});
        segment.insert(segment.end(), octets, 0x55);
        ip(from, to, 6, segment);
    }
    FakeFeed feed() {
        FakeFeed feed;
        feed.frames = frames_;
        feed.state.has_packets = true;
        feed.state.first_packet = 1;
        feed.state.last_packet = frames_.size();
        return feed;
    }

private:
    void ip(unsigned from, unsigned to, unsigned protocol, const std::vector<unsigned>& payload) {
        const auto length = static_cast<unsigned>(20 + payload.size());
        std::vector<unsigned> all(12, 2);
        all.insert(all.end(), {8, 0, 0x45, 0, length >> 8, length & 255, 0, 0, 0, 0, 64, protocol, 0, 0});
        all.insert(all.end(), {192, 0, 2, from, 192, 0, 2, to});
        all.insert(all.end(), payload.begin(), payload.end());
        support::KeptFrame kept;
        for (const unsigned octet : all) kept.octets.push_back(static_cast<std::byte>(octet));
        kept.wire_length = static_cast<std::uint32_t>(kept.octets.size());
        kept.time_ns = static_cast<std::int64_t>(1'000 * (frames_.size() + 1));
        frames_.push_back(std::move(kept));
    }
    std::vector<support::KeptFrame> frames_;
};

metrics::Address host(std::uint8_t last) {
    metrics::Address address;
    address.family = wire::AddressFamily::ipv4;
    address.octets[0] = 192;
    address.octets[2] = 2;
    address.octets[3] = last;
    return address;
}

metrics::FlowSnapshot roce_flow() {
    metrics::FlowSnapshot flow;
    flow.id = 1;
    flow.source = {host(1), 0x11, {}};
    flow.destination = {host(2), 0x22, {}};
    return flow;
}

metrics::FlowSnapshot iwarp_flow() {
    metrics::FlowSnapshot flow;
    flow.id = 1;
    flow.transport = wire::Transport::iwarp;
    flow.source = {host(1), {}, std::uint16_t{40'000}};
    flow.destination = {host(2), {}, std::uint16_t{7'174}};
    return flow;
}

std::string text_of(const std::vector<SequencePoint>& points) {
    std::string text;
    for (const SequencePoint& point : points) {
        text += "dRrAN"[static_cast<int>(point.kind)];
        if (point.reverse) text += '\'';
        text += std::to_string(point.sequence);
        if (point.length != 0) text += '+' + std::to_string(point.length);
        text += ' ';
    }
    return text;
}

constexpr std::uint8_t send_only = 0x04;
constexpr std::uint8_t write_middle = 0x07;
constexpr std::uint8_t read_request = 0x0c;
constexpr std::uint8_t response_first = 0x0d;
constexpr std::uint8_t response_middle = 0x0e;
constexpr std::uint8_t response_last = 0x0f;
constexpr std::uint8_t acknowledge = 0x11;

TEST(SequenceTrace, psns_go_on_beyond_24_bits) {
    Frames frames;
    frames.roce(1, 2, write_middle, 0x22, 0xfffffe);
    frames.roce(1, 2, write_middle, 0x22, 0xffffff);
    frames.roce(1, 2, write_middle, 0x22, 0);
    frames.roce(2, 1, acknowledge, 0x11, 0xffffff, {0x1f, 0, 0, 1});
    frames.roce(1, 2, write_middle, 0x22, 0xffffff);
    frames.roce(1, 2, write_middle, 0x22, 1);
    frames.roce(2, 1, acknowledge, 0x11, 1, {0x60, 0, 0, 1});  // NAK, PSN sequence error
    auto feed = frames.feed();
    EXPECT_EQ(text_of(points_of(feed, roce_flow())),
              "d16777214+1 d16777215+1 d16777216+1 A16777216 R16777215+1 d16777217+1 N16777217 ");
}

TEST(SequenceTrace, acknowledgements_alone_are_followed_round_the_circle) {
    Frames frames;
    for (std::uint32_t i = 0; i < 20; ++i)
        frames.roce(2, 1, acknowledge, 0x11, (i * 0x300000U) & 0xffffff, {0x1f, 0, 0, 1});
    auto feed = frames.feed();
    const auto points = points_of(feed, roce_flow());
    ASSERT_EQ(points.size(), 20u);
    EXPECT_EQ(points.back().sequence, 19 * 0x300000 + 1);
}

TEST(SequenceTrace, a_read_takes_a_psn_for_each_packet_of_its_response) {
    Frames frames;
    const auto reth = [](unsigned octets) {
        return std::vector<unsigned>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, octets >> 8, octets & 255};
    };
    frames.roce(1, 2, read_request, 0x22, 100, reth(2'500));
    frames.roce(2, 1, response_first, 0x11, 100, {0x1f, 0, 0, 1});
    frames.roce(2, 1, response_middle, 0x11, 101);
    frames.roce(2, 1, response_last, 0x11, 102, {0x1f, 0, 0, 1});
    frames.roce(1, 2, send_only, 0x22, 103);
    // Asked for again from the second packet on.
    frames.roce(1, 2, read_request, 0x22, 101, reth(1'476));
    frames.roce(2, 1, response_middle, 0x11, 101);
    auto feed = frames.feed();
    metrics::FlowSnapshot flow = roce_flow();
    flow.connection->path_mtu = 1024;
    EXPECT_EQ(text_of(points_of(feed, flow)), "d100+3 r100+1 r101+1 r102+1 d103+1 R101+2 R101+1 ");
}

TEST(SequenceTrace, both_directions_have_their_own_numbers) {
    Frames frames;
    frames.roce(1, 2, send_only, 0x22, 10);
    frames.roce(2, 1, send_only, 0x11, 9'000);
    frames.roce(2, 1, acknowledge, 0x11, 10, {0x1f, 0, 0, 1});
    frames.roce(1, 2, acknowledge, 0x22, 9'000, {0x2c, 0, 0, 1});  // RNR NAK, 0.64 ms
    frames.roce(1, 3, send_only, 0x22, 77);                        // another host's QP of the same number
    frames.roce(1, 2, send_only, 0x23, 78);                        // another QP
    auto feed = frames.feed();
    EXPECT_EQ(text_of(points_of(feed, roce_flow())), "d10+1 d'9000+1 A11 N'9000 ");
}

TEST(SequenceTrace, frames_before_the_flow_were_another_ones) {
    Frames frames;
    frames.roce(1, 2, send_only, 0x22, 900);
    frames.roce(1, 2, send_only, 0x22, 10);
    auto feed = frames.feed();
    metrics::FlowSnapshot flow = roce_flow();
    flow.id = 2;
    EXPECT_EQ(text_of(points_of(feed, flow)), "d10+1 ");
}

TEST(SequenceTrace, nothing_is_sent_again_where_the_service_repeats_nothing) {
    constexpr std::uint8_t uc_send_only = 0x24;
    Frames frames;
    frames.roce(1, 2, uc_send_only, 0x22, 11);
    frames.roce(1, 2, uc_send_only, 0x22, 10);
    auto feed = frames.feed();
    EXPECT_EQ(text_of(points_of(feed, roce_flow())), "d11+1 d10+1 ");
}

TEST(SequenceTrace, octets_go_on_beyond_32_bits) {
    constexpr unsigned ack = 0x10;
    Frames frames;
    frames.tcp(1, 2, 0xffffff00, 500, ack, 0x100);
    frames.tcp(1, 2, 0, 500, ack, 40);
    frames.tcp(2, 1, 500, 0, ack, 0);
    frames.tcp(2, 1, 500, 0, ack, 0);   // duplicate: 40 octets are outstanding
    frames.tcp(1, 2, 0, 500, ack, 40);  // again
    frames.tcp(2, 1, 500, 40, ack, 0);
    frames.tcp(2, 1, 500, 40, ack, 0);  // nothing is outstanding: no duplicate. RFC 5681, 2
    auto feed = frames.feed();
    EXPECT_EQ(text_of(points_of(feed, iwarp_flow())), "d0+256 A'0 d256+40 A256 N256 R256+40 A296 ");
}

TEST(SequenceTrace, syn_and_fin_take_a_number_each) {
    Frames frames;
    frames.tcp(1, 2, 1'000, 0, 0x02, 0);
    frames.tcp(2, 1, 9'000, 1'001, 0x12, 0);
    frames.tcp(1, 2, 1'001, 9'001, 0x18, 20);
    frames.tcp(1, 2, 1'021, 9'001, 0x11, 0);  // FIN
    frames.tcp(2, 1, 9'001, 1'022, 0x10, 0);
    frames.tcp(1, 2, 1'022, 0, 0x04, 0);  // RST
    auto feed = frames.feed();
    EXPECT_EQ(text_of(points_of(feed, iwarp_flow())), "A1 d1+20 A'1 A22 ");
}

TEST(SequenceTrace, frames_that_went_before_they_were_looked_at_do_not_confuse) {
    Frames frames;
    for (std::uint32_t psn = 0; psn < 50; ++psn) frames.roce(1, 2, send_only, 0x22, psn);
    auto feed = frames.feed();
    feed.state.last_packet = 10;
    SequenceTrace trace;
    trace.follow(roce_flow());
    EXPECT_FALSE(trace.advance(feed));
    feed.state.last_packet = 50;
    feed.state.first_packet = 31;
    while (trace.advance(feed, 5)) {
    }
    ASSERT_EQ(trace.points().size(), 30u);
    EXPECT_EQ(trace.points()[10].frame, 31u);
    EXPECT_EQ(trace.points()[10].kind, Kind::data);
    // Back in time: what comes is read again.
    feed.state.first_packet = 1;
    feed.state.last_packet = 5;
    trace.advance(feed);
    EXPECT_EQ(trace.points().size(), 5u);
}

TEST(SequenceTrace, cut_frames_say_what_they_still_hold) {
    Frames frames;
    frames.roce(2, 1, acknowledge, 0x11, 5, {0x1f, 0, 0, 1});
    frames.roce(1, 2, send_only, 0x22, 6);
    auto feed = frames.feed();
    for (std::size_t octets = 0; octets <= feed.frames[0].octets.size(); ++octets) {
        FakeFeed cut = feed;
        for (support::KeptFrame& frame : cut.frames) frame.octets.resize(std::min(octets, frame.octets.size()));
        const std::string text = text_of(points_of(cut, roce_flow()));
        const std::string ack = octets >= 58 ? "A6 " : "";     // 14 + 20 + 8 + 12 + 4
        const std::string data = octets >= 54 ? "d6+1 " : "";  // without the AETH
        EXPECT_EQ(text, ack + data) << octets;
    }
}

}  // namespace
}  // namespace tui
