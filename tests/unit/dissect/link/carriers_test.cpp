// Marks on the headers of tunnels (RFC 6040), and what is left unread.
#include <gtest/gtest.h>
#include <string>

#include "tests/unit/dissect/link/samples.h"
#include "tests/unit/dissect/link/support.h"
#include "wire/udp_port.h"

namespace {

using dissect::LayerId;
using dissect::Outcome;
using support::Octets;
using wire::Carrier;
using wire::CarrierKind;

Octets carrier_sample(std::string_view name) {
    for (const auto& known : samples::frames)
        if (known.name == name) return support::from_hex(known.octets);
    ADD_FAILURE() << "no sample " << name;
    return {};
}

dissect::Dissection whole_of(const Octets& octets, wire::LinkType link = wire::LinkType::ethernet) {
    return support::dissect_octets(octets, static_cast<std::uint32_t>(octets.size()), link);
}

constexpr std::size_t outer_ipv4_class = 14 + 1;

/// The second octet of IPv6 has the low half of the traffic class in its upper half.
void mark_outer(Octets& octets) {
    if (base::load_be16(&octets[12]) == 0x86dd)
        octets[outer_ipv4_class] |= std::byte{0x30};
    else
        octets[outer_ipv4_class] |= std::byte{3};
}

TEST(TunnelMarks, BecomeThoseOfThePacketInside) {
    for (const std::string_view name : {"vxlan", "geneve", "geneveip", "gre", "greip", "gpe 4", "gpe eth"}) {
        Octets octets = carrier_sample(name);
        const bool capable = whole_of(octets).network.ecn() != 0;
        const std::uint8_t before = whole_of(octets).network.traffic_class;
        mark_outer(octets);
        const auto dissection = whole_of(octets);
        ASSERT_TRUE(dissection.has(LayerId::bth)) << name;
        EXPECT_EQ(dissection.network.ecn(), capable ? 3 : 0) << name;
        EXPECT_EQ(dissection.network.traffic_class, before) << name << ": what the packet itself says stays";
    }
}

/// RFC 6040, 4.2: the tunnel's end drops a marked packet whose own header is not ECN-capable.
TEST(TunnelMarks, AreNotThoseOfAPacketThatIsNotCapable) {
    Octets octets = carrier_sample("vxlan");
    mark_outer(octets);
    constexpr std::size_t inner_class = 14 + 20 + 8 + 8 + 14 + 1;
    ASSERT_EQ(octets[inner_class], std::byte{0x6a});
    octets[inner_class] = std::byte{0x68};
    EXPECT_EQ(whole_of(octets).network.ecn(), 0);
    octets[inner_class] = std::byte{0x69};  // ECT(1)
    EXPECT_EQ(whole_of(octets).network.ecn(), 3);
}

TEST(TunnelMarks, OnAMirrorsWayAreTheMirrors) {
    for (const std::string_view name : {"erspan1", "erspan2", "erspan3", "erspan3p5"}) {
        Octets octets = carrier_sample(name);
        mark_outer(octets);
        const auto dissection = whole_of(octets);
        ASSERT_TRUE(dissection.has(LayerId::bth)) << name;
        EXPECT_EQ(dissection.network.ecn(), 2) << name;
    }
}

/// A tunnel inside a mirror is a tunnel again: the outermost header alone is the mirror's.
TEST(TunnelMarks, OfATunnelThatIsMirrored) {
    const Octets mirror = carrier_sample("erspan1");
    Octets tunnel = carrier_sample("vxlan");
    const auto mirrored = [&] {
        Octets all(mirror.begin(), mirror.begin() + 14 + 20 + 4);
        all.insert(all.end(), tunnel.begin(), tunnel.end());
        base::store_be16(&all[16], static_cast<std::uint16_t>(all.size() - 14));
        mark_outer(all);
        return all;
    };
    EXPECT_EQ(whole_of(mirrored()).network.ecn(), 2);
    mark_outer(tunnel);
    EXPECT_EQ(whole_of(mirrored()).network.ecn(), 3);
}

struct UnreadFrame {
    const char* what;
    wire::LinkType link;
    std::string_view octets;
    Carrier carrier;
};

constexpr UnreadFrame unread_frames[] = {
    {"an EtherType",
     wire::LinkType::ethernet,
     "0200000000020200000000018999"
     "00000000",
     {CarrierKind::ether_type, 0x8999}},
    {"an EtherType behind a tag",
     wire::LinkType::ethernet,
     "0200000000020200000000018100"
     "0064"
     "8999"
     "0000",
     {CarrierKind::ether_type, 0x8999}},
    {"ARP",
     wire::LinkType::ethernet,
     "0200000000020200000000010806"
     "0001080006040001",
     {}},
    {"LLDP",
     wire::LinkType::ethernet,
     "02000000000202000000000188cc"
     "0207040200000000",
     {}},
    {"spanning tree",
     wire::LinkType::ethernet,
     "0180c20000000200000000010004"
     "42420300",
     {}},
    {"ESP",
     wire::LinkType::ethernet,
     "0200000000020200000000010800"
     "4500001c0000000040320000c0000201c0000202"
     "0000000100000001",
     {CarrierKind::ip_protocol, 50}},
    {"OSPF",
     wire::LinkType::ethernet,
     "0200000000020200000000010800"
     "4500001c0000000040590000c0000201c0000202"
     "0201000000000000",
     {}},
    {"ICMP",
     wire::LinkType::ethernet,
     "0200000000020200000000010800"
     "4500001c0000000040010000c0000201c0000202"
     "0800000000000000",
     {}},
    {"EtherIP in IPv6",
     wire::LinkType::raw,
     "6000000000046140"
     "20010db8000000000000000000000001"
     "20010db8000000000000000000000002"
     "30000000",
     {CarrierKind::ip_protocol, 97}},
    {"WireGuard",
     wire::LinkType::raw,
     "45000020000000004011"
     "0000c0000201c0000202"
     "c000ca6c000c0000"
     "04000000",
     {CarrierKind::udp_port, 51820}},
    {"UET",
     wire::LinkType::raw,
     "45000020000000004011"
     "0000c0000201c0000202"
     "c00012b9000c0000"
     "3a000000",
     {CarrierKind::udp_port, 4793}},
    {"DNS",
     wire::LinkType::raw,
     "45000020000000004011"
     "0000c0000201c0000202"
     "c0000035000c0000"
     "04000000",
     {}},
    {"GRE of version 1",
     wire::LinkType::raw,
     "4500001c00000000402f"
     "0000c0000201c0000202"
     "2001880b00000000",
     {CarrierKind::ip_protocol, 47}},
    {"a pseudowire of another kind",
     wire::LinkType::ethernet,
     "0200000000020200000000018847"
     "000641ff"
     "ffffffffffffffffffffffffffffffffffffffffffffffff",
     {CarrierKind::mpls, 0}},
    {"MPLS' own tests",
     wire::LinkType::ethernet,
     "0200000000020200000000018847"
     "000641ff"
     "10000007ffffffffffffffffffffffffffffffffffffffff",
     {}},
    {"PPP, compressed",
     wire::LinkType::ethernet,
     "0200000000020200000000018864"
     "110012340004"
     "00fd0000",
     {CarrierKind::ppp_protocol, 0x00fd}},
    {"PPP, set-up",
     wire::LinkType::ethernet,
     "0200000000020200000000018864"
     "110012340004"
     "80210000",
     {}},
    {"PPPoE, discovery",
     wire::LinkType::ethernet,
     "0200000000020200000000018863"
     "1109000000000000",
     {}},
    {"NSH with another protocol",
     wire::LinkType::ethernet,
     "020000000002020000000001894f"
     "0fc202fe001b59fe00000000",
     {CarrierKind::nsh_protocol, 254}},
    {"NSH of version 1",
     wire::LinkType::ethernet,
     "020000000002020000000001894f"
     "4fc20201001b59fe00000000",
     {CarrierKind::ether_type, 0x894f}},
    {"VXLAN-GPE with another protocol",
     wire::LinkType::raw,
     "45000024000000004011"
     "0000c0000201c0000202"
     "c00012b600100000"
     "0c00000900004d00",
     {CarrierKind::vxlan_gpe_protocol, 9}},
    {"Arista, another sub-type",
     wire::LinkType::ethernet,
     "020000000002020000000001d28b"
     "00030010000000000000000000000000",
     {CarrierKind::ether_type, 0xd28b}},
    {"Arista, another format",
     wire::LinkType::ethernet,
     "020000000002020000000001d28b"
     "00010030000000000000000000000000",
     {CarrierKind::ether_type, 0xd28b}},
    {"a link type", static_cast<wire::LinkType>(147), "00000000", {CarrierKind::link_type, 147}},
    {"an ERF type",
     wire::LinkType::erf,
     "0000000000f1536501040014"
     "00000004"
     "0f000800",
     {CarrierKind::erf_type, 1}},
    {"metadata of ERF",
     wire::LinkType::erf,
     "0000000000f153651b040018"
     "00000000"
     "0000000000000000",
     {}},
    {"NFLOG of another family",
     wire::LinkType::nflog,
     "0100000508000900"
     "00000000",
     {CarrierKind::nflog_family, 1}},
    {"NFLOG of a bridge, ARP",
     wire::LinkType::nflog,
     "07000005"
     "0800010008060400"
     "0800090000010800",
     {}},
};

TEST(Unread, IsNotedUnlessItIsOrdinary) {
    for (const UnreadFrame& each : unread_frames) {
        const auto dissection = whole_of(support::from_hex(each.octets), each.link);
        EXPECT_EQ(dissection.unread, each.carrier) << each.what << ": " << wire::text_of(dissection.unread);
    }
    EXPECT_EQ(whole_of(carrier_sample("macsec encrypted")).unread, (Carrier{CarrierKind::ether_type, 0x88e5}));
    Octets changed = carrier_sample("macsec encrypted");
    changed[14] = std::byte{0x24};  // C without E
    EXPECT_EQ(whole_of(changed).unread, (Carrier{CarrierKind::macsec, 0}));
    for (const auto& known : samples::frames)
        if (known.psn != samples::none) {
            EXPECT_FALSE(whole_of(support::from_hex(known.octets), known.link_type).unread) << known.name;
        }
}

/// The metrics leave out datagrams that are neither RoCE nor of these ports, without a dissection.
TEST(UdpPorts, TunnelsAreThoseThatTheDissectorFollows) {
    // IPv4, UDP; a payload that VXLAN accepts: its flag for a valid VNI, all else zero.
    Octets octets = support::from_hex("450000440000000040110000c0000201c0000202c000000000300000");
    octets.resize(68);
    octets[28] = std::byte{0x08};
    for (unsigned port = 0; port < 65536; ++port) {
        octets[22] = static_cast<std::byte>(port >> 8);
        octets[23] = static_cast<std::byte>(port);
        const auto dissection = whole_of(octets, wire::LinkType::raw);
        const bool followed = support::chain(dissection) != "raw:ip:udp";
        EXPECT_EQ(followed, port == wire::udp_port::roce || wire::udp_port::is_tunnel(static_cast<std::uint16_t>(port)))
            << port << ' ' << support::chain(dissection);
    }
}

/// A SecTAG says how short its data are: what follows the check value is Ethernet's padding. IEEE 802.1AE, 9.7.
TEST(MacSec, ShortLengthEndsTheData) {
    Octets octets = carrier_sample("macsec 1");
    constexpr std::size_t short_length = 15;
    octets[short_length] = std::byte{40};
    const auto dissection = whole_of(octets);
    EXPECT_EQ(dissection.odd.reason, dissect::Reason::bad_total_length) << "the IP header inside claims more";
    octets[short_length] = std::byte{200};
    EXPECT_EQ(whole_of(octets).stop.outcome, Outcome::malformed);
}

/// A machine of the other byte order wrote the attributes.
TEST(Nflog, BigEndianAttributes) {
    const Octets octets = support::from_hex(
        "02000005"
        "0008000108000400"
        "00240009"
        "45000020000000004011"
        "0000c0000201c0000202"
        "c0000035000c0000"
        "04000000");
    const auto dissection = whole_of(octets, wire::LinkType::nflog);
    EXPECT_EQ(dissection.stop.outcome, Outcome::complete);
    EXPECT_EQ(dissection.destination_port, 53);
    const support::Collected collected{dissection, octets};
    EXPECT_EQ(collected.values.at("nflog.tlv_length"), "8|36");
    EXPECT_EQ(collected.values.at("nflog.protocol"), "0x0800");
}

}  // namespace
