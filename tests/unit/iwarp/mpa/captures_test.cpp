#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <tuple>

#include "iwarp/mpa/handshake.h"
#include "support.h"
#include "tests/support/pcaps.h"
#include "wire/mpa.h"

/// What Linux siw sent, octet for octet, through the handshake and the reader, and out of the writer again.
namespace {

using namespace mpa_test;
using iwarp::mpa::Handshake;

std::uint32_t little_32(const Octets& octets, std::size_t at) {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < 4; ++i) value |= std::to_integer<std::uint32_t>(octets[at + i]) << 8 * i;
    return value;
}

struct Connection {
    Octets initiator;
    Octets responder;
};

/// The TCP connections of an Ethernet and IPv4 capture that begin with a SYN, in the order of their SYNs: both
/// directions, repeated and reordered segments put right.
std::vector<Connection> connections(const std::string& capture) {
    std::ifstream file(support::pcaps() + "/" + capture + ".pcap", std::ios::binary);
    const std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
    Octets octets(chars.size());
    std::ranges::transform(chars, octets.begin(), [](char c) { return static_cast<std::byte>(c); });

    using Direction = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // addresses, both ports
    struct Half {
        std::uint32_t first = 0;
        std::size_t connection = 0;
        bool initiates = false;
        std::map<std::uint32_t, Octets> segments;
    };
    std::map<Direction, Half> halves;
    std::size_t count = 0;
    for (std::size_t at = 24; at + 16 <= octets.size();) {
        const std::size_t size = little_32(octets, at + 8);
        const std::byte* const ip = octets.data() + at + 16 + 14;
        at += 16 + size;
        if (base::load_be16(ip - 2) != 0x0800 || ip[9] != std::byte{6}) continue;
        const std::byte* const tcp = ip + (base::load_u8(ip) & 0xfu) * 4;
        const std::byte* const data = tcp + (base::load_u8(tcp + 12) >> 4) * 4;
        const std::byte* const end = ip + base::load_be16(ip + 2);
        const std::uint32_t ports = base::load_be32(tcp);
        const Direction direction{base::load_be32(ip + 12), base::load_be32(ip + 16), ports};
        const std::uint32_t sequence = base::load_be32(tcp + 4);
        const auto flags = base::load_u8(tcp + 13);
        if ((flags & 0x02) != 0) {
            const bool initiates = (flags & 0x10) == 0;
            if (initiates && !halves.contains(direction)) ++count;
            const Direction other{base::load_be32(ip + 16), base::load_be32(ip + 12), ports << 16 | ports >> 16};
            const std::size_t connection = initiates ? count - 1 : halves.at(other).connection;
            halves[direction] = {sequence + 1, connection, initiates, {}};
        } else if (data < end && halves.contains(direction)) {
            Half& half = halves.at(direction);
            Octets& kept = half.segments[sequence - half.first];
            if (kept.size() < static_cast<std::size_t>(end - data)) kept.assign(data, end);
        }
    }
    std::vector<Connection> out(count);
    for (auto& [direction, half] : halves) {
        Octets& stream = half.initiates ? out[half.connection].initiator : out[half.connection].responder;
        for (const auto& [offset, segment] : half.segments) {
            if (offset > stream.size()) break;
            const std::size_t known = stream.size() - offset;
            if (known < segment.size())
                stream.insert(stream.end(), segment.begin() + static_cast<std::ptrdiff_t>(known), segment.end());
        }
    }
    return out;
}

struct Totals {
    std::size_t fpdus = 0;
    std::size_t ulpdu_octets = 0;
    friend bool operator==(const Totals&, const Totals&) = default;
    friend void PrintTo(const Totals& totals, std::ostream* out) { *out << totals.fpdus << '/' << totals.ulpdu_octets; }
};

/// Reads one direction in several ways, each with the same outcome; the writer makes the same octets of it.
Totals read(base::Bytes fpdus, const iwarp::mpa::Terms& terms, bool markers, const std::string& what,
            std::optional<Fault> expected = std::nullopt) {
    Totals totals;
    std::vector<Octets> ulpdus;
    for (const bool strict : {true, false}) {
        for (const std::size_t size : {fpdus.size(), std::size_t{1448}, std::size_t{65536}, std::size_t{77}}) {
            Sink sink;
            FpduReader reader{{terms.crc, markers, strict}, sink};
            std::optional<Fault> fault;
            for (std::size_t at = 0; at < fpdus.size() && !fault; at += size)
                fault = give(reader, fpdus.subspan(at, std::min(size, fpdus.size() - at)));
            EXPECT_EQ(fault, expected) << what;
            EXPECT_TRUE(ulpdus.empty() || sink.ulpdus == ulpdus) << what;
            ulpdus = std::move(sink.ulpdus);
            if (!expected) {
                EXPECT_TRUE(reader.at_boundary()) << what;
            }
        }
    }
    iwarp::mpa::FpduWriter writer{{terms.crc, markers}};
    iwarp::mpa::Batch batch;
    std::size_t at = 0;
    for (const Octets& ulpdu : ulpdus) {
        ++totals.fpdus;
        totals.ulpdu_octets += ulpdu.size();
        const std::size_t header = wire::ddp_header_size(ulpdu[0]);
        const base::Bytes payload = base::Bytes{ulpdu}.subspan(header);
        if (ulpdu.size() > wire::mpa_ulpdu_max) {  // siw with try_gso; never written here
            at += wire::mpa_fpdu_size(static_cast<std::uint32_t>(ulpdu.size()));
            continue;
        }
        writer.add(base::Bytes{ulpdu}.first(header), std::span{&payload, 1}, batch);
        const Octets written = content(batch.pieces());
        batch.clear();
        if (at + written.size() > fpdus.size()) {
            ADD_FAILURE() << what << " at " << at;
            break;
        }
        const base::Bytes sent = fpdus.subspan(at, written.size());
        at += written.size();
        // siw pads with what an earlier FPDU left there, and its CRC covers that: then all before it is the same.
        const base::Bytes padding =
            sent.first(sent.size() - 4).last(wire::mpa_pad(static_cast<std::uint32_t>(ulpdu.size())));
        const bool zeros = std::ranges::all_of(padding, [](std::byte octet) { return octet == std::byte{}; });
        const std::size_t same = zeros ? sent.size() : sent.size() - 4 - padding.size();
        EXPECT_TRUE(std::ranges::equal(sent.first(same), base::Bytes{written}.first(same))) << what << " before " << at;
        if (markers) {
            EXPECT_TRUE(zeros) << what;
        }
    }
    return totals;
}

/// Both directions of a capture's connections. The figures are tshark's: FPDUs and the sum of iwarp_mpa.ulpdulength.
std::vector<Totals> read_capture(const std::string& capture) {
    std::vector<Totals> all;
    for (const Connection& connection : connections(capture)) {
        iwarp::ConnectionOptions options;
        options.crc = false;  // theirs decide
        Handshake responder = Handshake::responder(options);
        const std::size_t request = responder.receive(connection.initiator);
        EXPECT_EQ(responder.state(), Handshake::State::requested) << capture << responder.failure();
        options.revision = responder.terms().revision;
        options.peer_to_peer = responder.peer_parameters() && responder.peer_parameters()->peer_to_peer;
        options.crc = responder.terms().crc;
        options.markers = responder.terms().markers_sent;
        Handshake initiator = Handshake::initiator(options);
        const std::size_t reply = initiator.receive(connection.responder);
        EXPECT_EQ(initiator.state(), Handshake::State::agreed) << capture << initiator.failure();
        // This side's Request is the one that siw sent, where both want the same; except siw's own bit.
        Octets theirs(connection.initiator.begin(), connection.initiator.begin() + 18);
        theirs[16] &= std::byte{0xf7};
        EXPECT_EQ(hex(initiator.output().first(18)), hex(theirs));
        const auto& terms = initiator.terms();
        all.push_back(read(base::Bytes{connection.initiator}.subspan(request), terms, terms.markers_sent,
                           capture + " initiator"));
        all.push_back(read(base::Bytes{connection.responder}.subspan(reply), terms, terms.markers_received,
                           capture + " responder"));
    }
    return all;
}

TEST(Captures, rping_with_crc) {
    EXPECT_EQ(
        read_capture("siw-rping-crc"),
        (std::vector<Totals>{
            {30, 1460}, {40, 1920}, {15, 5410}, {20, 5640}, {25, 21030}, {30, 21260}, {144, 198741}, {147, 198879}}));
}

TEST(Captures, rping_peer_to_peer) {
    // A ready-to-receive message goes before each client's first.
    EXPECT_EQ(
        read_capture("siw-rping-p2p"),
        (std::vector<Totals>{
            {31, 1474}, {40, 1920}, {16, 5424}, {20, 5640}, {26, 21044}, {30, 21260}, {145, 198755}, {147, 198879}}));
}

TEST(Captures, large_messages) {
    EXPECT_EQ(read_capture("siw-send-bw-64k-crc"), (std::vector<Totals>{{11, 616}, {11, 616}, {705, 995730}, {3, 54}}));
    EXPECT_EQ(read_capture("siw-read-bw-64k-crc"),
              (std::vector<Totals>{{16, 746}, {16, 746}, {15, 690}, {690, 992700}}));
    EXPECT_EQ(read_capture("siw-send-bw-64k-jumbo-crc"),
              (std::vector<Totals>{{11, 616}, {11, 616}, {120, 985200}, {3, 54}}));
}

TEST(Captures, without_crc) {
    const auto found = read_capture("siw-write-bw-64k-nocrc");
    ASSERT_EQ(found.size(), 4u);
    EXPECT_EQ(found[0], (Totals{16, 746}));
    EXPECT_EQ(found[1], (Totals{16, 746}));
    EXPECT_EQ(found[2], (Totals{690, 992700}));
}

TEST(Captures, fpdus_beyond_the_limit) {
    const auto found = read_capture("siw-gso-tcpdump-A");
    ASSERT_EQ(found.size(), 4u);
    EXPECT_EQ(found[2], (Totals{31, 983474}));
}

// tshark gives up where segments are missing: 150 messages of 4096 octets, by the command line next to the capture, in
// three FPDUs each.
TEST(Captures, behind_loss) {
    EXPECT_EQ(read_capture("siw-loss1pct-send-bw"),
              (std::vector<Totals>{{11, 616}, {11, 616}, {450, 150 * (4096 + 3 * 18)}, {3, 54}}));
}

// Markers in both directions, by an emitter of its own; the last FPDU's CRC is bad by one bit.
TEST(Captures, markers) {
    const auto found = connections("made-mpa-markers");
    ASSERT_EQ(found.size(), 1u);
    Handshake responder = Handshake::responder({});
    const std::size_t request = responder.receive(found[0].initiator);
    ASSERT_EQ(responder.state(), Handshake::State::requested);
    ASSERT_TRUE(responder.terms().crc);
    ASSERT_TRUE(responder.terms().markers_sent);
    // Sends of 24, 400, 600, n and 8 octets and three Writes of 1000: n fills up to the next marker.
    const Totals client =
        read(base::Bytes{found[0].initiator}.subspan(request), responder.terms(), true, "client", iwarp::fault::crc);
    EXPECT_EQ(client.fpdus, 8u);
    iwarp::ConnectionOptions options;
    options.revision = 1;
    options.markers = true;
    Handshake initiator = Handshake::initiator(options);
    const std::size_t reply = initiator.receive(found[0].responder);
    ASSERT_EQ(initiator.state(), Handshake::State::agreed);
    // A Write of 1200 octets and Sends of 0 to 39.
    EXPECT_EQ(read(base::Bytes{found[0].responder}.subspan(reply), initiator.terms(), true, "server"),
              (Totals{41, 14 + 1200 + 40 * 18 + 780}));
}

TEST(Captures, rejection) {
    const auto found = connections("siw-mpa-reject");
    ASSERT_FALSE(found.empty());
    Handshake initiator = Handshake::initiator({});
    EXPECT_EQ(initiator.receive(found[0].responder), 24u);
    EXPECT_EQ(initiator.state(), Handshake::State::rejected);
    EXPECT_TRUE(initiator.private_data().empty());
}

}  // namespace
