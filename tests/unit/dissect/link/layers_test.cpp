// What the link, network and transport layers pass on to the metrics, and how they take odd lengths.
#include <gtest/gtest.h>

#include "dissect/packet_end.h"
#include "tests/unit/dissect/link/samples.h"
#include "tests/unit/dissect/link/support.h"

namespace {

using dissect::LayerId;
using dissect::Network;
using dissect::Outcome;
using dissect::Reason;
using support::Octets;

Octets sample(std::string_view name) {
    for (const auto& known : samples::frames)
        if (known.name == name) return support::from_hex(known.octets);
    ADD_FAILURE() << "no sample " << name;
    return {};
}

dissect::Dissection all_of(const Octets& octets) {
    return support::dissect_octets(octets, static_cast<std::uint32_t>(octets.size()));
}

void set16(Octets& octets, std::size_t at, std::uint16_t value) { base::store_be16(&octets[at], value); }

TEST(Summary, Ipv4AndUdp) {
    const auto dissection = all_of(sample("roce4"));
    EXPECT_EQ(dissection.network.family, Network::Family::ipv4);
    EXPECT_EQ(dissection.network.traffic_class, 0x6a);
    EXPECT_EQ(dissection.network.ecn(), 2);
    EXPECT_EQ(dissection.network.hop_limit, 64);
    EXPECT_EQ(dissection.network.source_offset, 26u);
    EXPECT_EQ(dissection.network.destination_offset, 30u);
    EXPECT_EQ(dissection.source_port, 49152);
    EXPECT_EQ(dissection.destination_port, 4791);
    EXPECT_FALSE(dissection.fragmented);
}

TEST(Summary, Ipv6) {
    const auto dissection = all_of(sample("roce6"));
    EXPECT_EQ(dissection.network.family, Network::Family::ipv6);
    EXPECT_EQ(dissection.network.traffic_class, 0x6a);
    EXPECT_EQ(dissection.network.hop_limit, 63);
    EXPECT_EQ(dissection.network.source_offset, 22u);
    EXPECT_EQ(dissection.network.destination_offset, 38u);
}

TEST(Summary, InnermostNetworkOfATunnel) {
    const auto dissection = all_of(sample("vxlan"));
    EXPECT_EQ(dissection.network.source_offset, 14u + 20 + 8 + 8 + 14 + 12);
    EXPECT_EQ(dissection.network.traffic_class, 0x6a);
}

TEST(Summary, Tcp) {
    const Octets octets = sample("tcpopt");
    const auto dissection = all_of(octets);
    EXPECT_EQ(dissection.source_port, 7174);
    EXPECT_EQ(dissection.destination_port, 34491);
    EXPECT_EQ(dissection.tcp.sequence, 0x01020304u);
    EXPECT_EQ(dissection.tcp.acknowledgment, 0x0a0b0c0du);
    EXPECT_EQ(dissection.tcp.window, 512);
    EXPECT_EQ(dissection.tcp.flags, 0xc2);
    EXPECT_EQ(dissection.tcp.payload_offset, 14u + 20 + 40);
    EXPECT_EQ(dissection.tcp.payload_length, 11u);
    EXPECT_EQ(dissection.tcp.payload_captured, 11u);
}

TEST(Summary, TcpCutInItsOptionsStillKnowsItsLength) {
    Octets octets = sample("tcpopt");
    const auto wire_length = static_cast<std::uint32_t>(octets.size());
    octets.resize(14 + 20 + 25);
    const auto dissection = support::dissect_octets(octets, wire_length);
    EXPECT_EQ(dissection.stop.outcome, Outcome::truncated);
    EXPECT_EQ(dissection.tcp.payload_length, 11u);
    EXPECT_EQ(dissection.tcp.payload_captured, 0u);
}

TEST(Lengths, EthernetPaddingIsNoPayload) {
    const auto dissection = all_of(sample("pad"));
    EXPECT_EQ(dissection.tcp.payload_length, 0u);
    EXPECT_EQ(dissection.tcp.payload_captured, 0u);
}

TEST(Lengths, TotalLengthZeroGoesToTheEndOfTheFrame) {
    const auto dissection = all_of(sample("tso*"));
    EXPECT_EQ(dissection.stop.outcome, Outcome::complete);
    EXPECT_EQ(dissection.tcp.payload_length, 80u);
}

TEST(Lengths, UdpLengthEndsItsData) {
    Octets octets = sample("roce4");
    set16(octets, 38, 8 + 12 + 16 + 4);  // BTH, RETH and ICRC: twelve octets less than IP has
    const auto dissection = all_of(octets);
    const auto* icrc = dissection.find(LayerId::icrc);
    ASSERT_NE(icrc, nullptr);
    EXPECT_EQ(icrc->offset + icrc->length, 34u + 40);
}

/// How many octets a protocol and what it carries have.
std::uint32_t packet_octets(const dissect::Dissection& dissection, const Octets& octets, LayerId id) {
    for (unsigned i = 0; i < dissection.layer_count; ++i)
        if (dissection.layers[i].id == id)
            return dissect::end_of_packet(dissection, i, octets) - dissection.layers[i].offset;
    return 0;
}

// As tshark 4.0.17 has them: the N for which `ip matches "(?s)^.{N}$"` holds.
TEST(Lengths, PacketsEndWhereTheirHeadersSay) {
    const Octets padded = sample("pad");
    const auto padded_layers = all_of(padded);
    EXPECT_EQ(packet_octets(padded_layers, padded, LayerId::ethernet), 60u);
    EXPECT_EQ(packet_octets(padded_layers, padded, LayerId::ipv4), 40u);
    EXPECT_EQ(packet_octets(padded_layers, padded, LayerId::tcp), 20u);
    Octets short_udp = sample("roce4");
    set16(short_udp, 38, 40);  // 56 in IP
    const auto short_layers = all_of(short_udp);
    EXPECT_EQ(packet_octets(short_layers, short_udp, LayerId::ethernet), 90u);
    EXPECT_EQ(packet_octets(short_layers, short_udp, LayerId::ipv4), 76u);
    EXPECT_EQ(packet_octets(short_layers, short_udp, LayerId::udp), 56u);
    EXPECT_EQ(packet_octets(short_layers, short_udp, LayerId::bth), 32u);
}

struct Contradiction {
    const char* what;
    std::string_view sample;
    std::size_t at;
    std::uint16_t value;
    Outcome outcome;
    Reason reason;
};

class Contradictions : public testing::TestWithParam<Contradiction> {};

TEST_P(Contradictions, AreNamed) {
    Octets octets = sample(GetParam().sample);
    set16(octets, GetParam().at, GetParam().value);
    const auto dissection = all_of(octets);
    EXPECT_EQ(dissection.stop.outcome, GetParam().outcome) << GetParam().what;
    EXPECT_EQ(dissection.stop.reason, GetParam().reason) << GetParam().what;
}

constexpr Contradiction contradictions[] = {
    {"IPv4 header of 16 octets", "roce4", 14, 0x446a, Outcome::malformed, Reason::bad_header_length},
    {"IPv4 version 5", "roce4", 14, 0x556a, Outcome::unsupported, Reason::bad_version},
    {"total length below the header", "roce4", 16, 19, Outcome::malformed, Reason::bad_total_length},
    {"UDP length beyond IP's", "roce4", 38, 57, Outcome::malformed, Reason::bad_total_length},
    {"UDP length below the header", "roce4", 38, 7, Outcome::malformed, Reason::bad_header_length},
    {"IPv6 version 7", "roce6", 14, 0x7000, Outcome::unsupported, Reason::bad_version},
    {"TCP header of 16 octets", "pad", 46, 0x4018, Outcome::malformed, Reason::bad_header_length},
    {"TCP header beyond IP's length", "pad", 46, 0xf018, Outcome::malformed, Reason::too_short},
    {"802.3 length beyond the frame", "llcstp", 12, 47, Outcome::malformed, Reason::bad_total_length},
    {"extension header beyond the packet", "v6ext", 54, 0x3cff, Outcome::malformed, Reason::too_short},
    {"AH of eight octets", "v6ah", 54, 0x1100, Outcome::malformed, Reason::bad_header_length},
    {"GRE version 1", "greip", 34, 0x0001, Outcome::unsupported, Reason::bad_version},
    {"GRE with source routes", "greip", 34, 0x4000, Outcome::unsupported, Reason::bad_version},
    {"ERSPAN version 3", "erspan2", 42, 0x3064, Outcome::unsupported, Reason::bad_version},
    {"Geneve version 1", "geneveip", 42, 0x4000, Outcome::unsupported, Reason::bad_version},
};
INSTANTIATE_TEST_SUITE_P(Link, Contradictions, testing::ValuesIn(contradictions));

/// Taps that keep only the first octets of every frame are how large fabrics are recorded: both lengths of the frame
/// are the short one, and the headers agree on the true one.
TEST(Lengths, CutBeforeTheCaptureIsTruncated) {
    for (const std::string_view name : {"roce4", "roce6"}) {
        Octets octets = sample(name);
        octets.resize(octets.size() - 24);
        const auto dissection = all_of(octets);
        EXPECT_EQ(dissection.stop.outcome, Outcome::truncated);
        EXPECT_EQ(dissection.stop.reason, Reason::snapped);
        EXPECT_EQ(dissection.odd_count, 0u);
        EXPECT_EQ(dissection.cut_octets, 24u);
        EXPECT_EQ(dissection.bth.psn, 1234u);
        EXPECT_EQ(dissection.bth.payload_length, 16u);
    }
}

/// Damage: a length field that another header contradicts, or the checksum of its own.
TEST(Lengths, BeyondTheFrameAndContradictedIsMalformed) {
    for (const std::string_view name : {"roce4", "roce6"}) {
        Octets octets = sample(name);
        octets.resize(octets.size() - 24);
        const bool version4 = name == "roce4";
        const std::size_t length_at = version4 ? 16 : 18;
        set16(octets, length_at, static_cast<std::uint16_t>(base::load_be16(&octets[length_at]) + 256));
        const auto dissection = all_of(octets);
        EXPECT_EQ(dissection.stop.outcome, Outcome::malformed) << name;
        EXPECT_EQ(dissection.stop.reason, Reason::bad_total_length) << name;
        EXPECT_EQ(dissection.cut_octets, 0u) << name;
    }
}

/// An IP header that says one octet too much, and a UDP header that is right.
TEST(Lengths, SlightlyTooLongIsOdd) {
    Octets octets = sample("roce4");
    set16(octets, 16, 77);
    const auto dissection = all_of(octets);
    EXPECT_EQ(dissection.stop.outcome, Outcome::complete);
    EXPECT_EQ(dissection.odd.reason, Reason::bad_total_length);
    EXPECT_EQ(dissection.odd.offset, 16u);
    EXPECT_EQ(dissection.bth.psn, 1234u);
}

/// A switch that mirrors may shorten: the inner packet is truncated, not malformed, whether ERSPAN says so or not.
TEST(Erspan, MarkedAsTruncatedIsNotMalformed) {
    Octets octets = sample("erspan2");
    constexpr std::size_t cut = 20;
    octets.resize(octets.size() - cut);
    set16(octets, 16, static_cast<std::uint16_t>(base::load_be16(&octets[16]) - cut));
    EXPECT_EQ(all_of(octets).stop.outcome, Outcome::truncated);
    EXPECT_EQ(all_of(octets).cut_octets, cut);
    octets[44] |= std::byte{0x04};
    const auto dissection = all_of(octets);
    EXPECT_EQ(dissection.cut_octets, cut);
    EXPECT_EQ(dissection.stop.outcome, Outcome::truncated);
    EXPECT_EQ(dissection.bth.psn, 1234u);
    EXPECT_EQ(dissection.bth.payload_length, 16u);  // as the inner UDP length says
}

/// RFC 2675, 2: a payload length of 0 and the option; 70,000 octets of which the capture has the first hundred.
TEST(Ipv6, JumboPayloadLengthCounts) {
    const Octets octets = support::from_hex(
        "525400000002525400000001"
        "86dd"
        "60000000"
        "0000"
        "00"
        "40"
        "20010db8000000000000000000000001"
        "20010db8000000000000000000000002"
        "0600"
        "c204"
        "00011170"
        "1c0686bb010203040a0b0c0d5018020000000000");
    const auto dissection = support::dissect_octets(octets, 14 + 40 + 70000 + 6);
    EXPECT_EQ(dissection.stop.outcome, Outcome::complete);
    EXPECT_EQ(dissection.tcp.payload_length, 70000u - 8 - 20);
}

TEST(Udp, OldVxlanPortNeedsAPlausibleHeader) {
    Octets octets = sample("vxlan");
    set16(octets, 36, 8472);
    EXPECT_EQ(all_of(octets).bth.psn, 1234u);
    EXPECT_TRUE(all_of(octets).has(LayerId::vxlan));
    octets[42] = std::byte{0x19};
    EXPECT_FALSE(all_of(octets).has(LayerId::vxlan));
    EXPECT_EQ(all_of(octets).stop.outcome, Outcome::complete);
}

TEST(Udp, RdmaIsAtTheDestinationPortAlone) {
    Octets octets = sample("roce4");
    set16(octets, 34, 4791);
    set16(octets, 36, 49152);
    EXPECT_FALSE(all_of(octets).has(LayerId::bth));
}

TEST(Vlan, ManyTagsEndSomewhere) {
    Octets octets = support::from_hex("525400000002525400000001");
    for (unsigned i = 0; i < 100; ++i) {
        const Octets tag = support::from_hex("81000064");
        octets.insert(octets.end(), tag.begin(), tag.end());
    }
    const auto dissection = all_of(octets);
    EXPECT_EQ(dissection.stop.outcome, Outcome::malformed);
    EXPECT_EQ(dissection.stop.reason, Reason::too_many_layers);
}

}  // namespace
