// Every header of the link, network and transport layers: what is emitted parses to the same, and what is parsed emits
// to the same octets.
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "wire/checksum.h"
#include "wire/erf.h"
#include "wire/erspan.h"
#include "wire/ethernet.h"
#include "wire/geneve.h"
#include "wire/gre.h"
#include "wire/ipoib.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/linux_cooked.h"
#include "wire/llc.h"
#include "wire/mac_control.h"
#include "wire/mpls.h"
#include "wire/null_loopback.h"
#include "wire/ppi.h"
#include "wire/tcp.h"
#include "wire/udp.h"
#include "wire/vlan.h"
#include "wire/vxlan.h"

namespace {

std::vector<std::byte> from_hex(std::string_view text) {
    const auto digit = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
    std::vector<std::byte> octets;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2)
        octets.push_back(static_cast<std::byte>(digit(text[i]) << 4 | digit(text[i + 1])));
    return octets;
}

template <class Header>
class EveryHeader : public testing::Test {};

using Headers =
    testing::Types<wire::Ethernet, wire::Vlan, wire::Llc, wire::Snap, wire::LinuxCooked, wire::LinuxCooked2,
                   wire::NullLoopback, wire::Erf, wire::Ipoib, wire::Pause, wire::PriorityPause, wire::Mpls, wire::Ipv4,
                   wire::Ipv6, wire::Ipv6Extension, wire::Ipv6Routing, wire::Ipv6Fragment, wire::IpAuth, wire::Udp,
                   wire::Tcp, wire::Gre, wire::Erspan2, wire::Erspan3, wire::Vxlan, wire::Geneve, wire::GeneveOption>;
TYPED_TEST_SUITE(EveryHeader, Headers);

/// Random octets, with the layout's reserved bits as it sends them, are a header with random values.
TYPED_TEST(EveryHeader, RoundTrip) {
    std::mt19937 random{wire::size_of<TypeParam>};
    for (unsigned round = 0; round < 2000; ++round) {
        std::array<std::byte, wire::size_of<TypeParam>> octets;
        for (auto& octet : octets) octet = static_cast<std::byte>(random() & 0xff);
        const auto header = wire::parse<TypeParam>(octets);
        ASSERT_TRUE(header.has_value());
        const auto emitted = wire::to_octets(*header);
        EXPECT_EQ(*wire::parse<TypeParam>(emitted), *header);
        if (!std::is_same_v<TypeParam, wire::LinuxCooked2>) {  // the only one with reserved bits
            EXPECT_EQ(emitted, octets);
        }
    }
}

TYPED_TEST(EveryHeader, TooFewOctetsAreNoHeader) {
    const std::array<std::byte, wire::size_of<TypeParam>> octets{};
    for (std::size_t size = 0; size < octets.size(); ++size) {
        EXPECT_FALSE(wire::parse<TypeParam>(base::Bytes{octets}.first(size)));
        EXPECT_FALSE(wire::View<TypeParam>::at(base::Bytes{octets}.first(size)));
    }
}

/// Octets from captures; the values are what tshark prints of them.
template <class Header>
Header real(std::string_view hex) {
    const auto octets = from_hex(hex);
    const auto header = wire::parse<Header>(octets);
    EXPECT_TRUE(header.has_value());
    const auto emitted = wire::to_octets(*header);
    EXPECT_TRUE(std::equal(emitted.begin(), emitted.end(), octets.begin(), octets.end())) << hex;
    return *header;
}

TEST(RealHeaders, Ethernet) {
    const auto header = real<wire::Ethernet>("5254000000015254000000020800");
    EXPECT_EQ(header.type, wire::ether_type::ipv4);
    EXPECT_EQ(header.source.back(), std::byte{2});
}

TEST(RealHeaders, Ipv4) {
    const auto header = real<wire::Ipv4>("45000134d18a40004011e42ac0000202c0000201");
    EXPECT_EQ(header.version, 4);
    EXPECT_EQ(header.header_words, 5);
    EXPECT_EQ(header.total_length, 308);
    EXPECT_EQ(header.identification, 0xd18a);
    EXPECT_TRUE(header.dont_fragment);
    EXPECT_FALSE(header.more_fragments);
    EXPECT_EQ(header.ttl, 64);
    EXPECT_EQ(header.protocol, wire::ip_protocol::udp);
    EXPECT_EQ(header.checksum, 0xe42a);
}

TEST(RealHeaders, Ipv6) {
    const auto header =
        real<wire::Ipv6>("6000000000103afffe80000000000000505400fffe000001ff020000000000000000000000000002");
    EXPECT_EQ(header.version, 6);
    EXPECT_EQ(header.payload_length, 16);
    EXPECT_EQ(header.next_header, wire::ip_protocol::icmpv6);
    EXPECT_EQ(header.hop_limit, 255);
}

TEST(RealHeaders, Udp) {
    const auto header = real<wire::Udp>("d87212b701200000");
    EXPECT_EQ(header.source_port, 55410);
    EXPECT_EQ(header.destination_port, 4791);
    EXPECT_EQ(header.length, 288);
}

TEST(RealHeaders, Tcp) {
    const auto header = real<wire::Tcp>("86bb1c06536414eb00000000a002faf0e50e0000");
    EXPECT_EQ(header.source_port, 34491);
    EXPECT_EQ(header.destination_port, 7174);
    EXPECT_EQ(header.sequence, 1399067883u);
    EXPECT_EQ(header.header_words, 10);
    EXPECT_TRUE(header.syn);
    EXPECT_FALSE(header.ack);
    EXPECT_EQ(header.window, 64240);
}

TEST(Ppi, RoundTripLittleEndian) {
    const auto octets = from_hex("0001100012000000");
    const wire::Ppi header = wire::parse_ppi(octets.data());
    EXPECT_EQ(header, (wire::Ppi{0, 1, 16, 18}));
    std::array<std::byte, wire::Ppi::size> emitted{};
    wire::emit_ppi(emitted, header);
    EXPECT_TRUE(std::equal(emitted.begin(), emitted.end(), octets.begin(), octets.end()));
}

TEST(Erf, TimestampIsLittleEndian) {
    const auto octets = from_hex("0000008000f15365");
    EXPECT_EQ(wire::erf_timestamp(octets.data()), 0x6553f10080000000u);
}

TEST(NullLoopback, FamilyInAnyOrder) {
    EXPECT_EQ(wire::in_any_order(0x02000000), 2u);
    EXPECT_EQ(wire::in_any_order(2), 2u);
    EXPECT_EQ(wire::in_any_order(0x1e000000), 30u);
}

TEST(Gre, SizeFollowsTheBits) {
    wire::Gre header;
    EXPECT_EQ(wire::gre_size(header), 4u);
    header.has_checksum = true;
    header.has_key = true;
    header.has_sequence = true;
    EXPECT_EQ(wire::gre_size(header), 16u);
}

/// The example of RFC 1071, 3: the sum is ddf2.
TEST(Checksum, Rfc1071) {
    EXPECT_EQ(wire::internet_checksum(from_hex("0001f203f4f5f6f7")), 0xffff ^ 0xddf2);
    EXPECT_EQ(wire::internet_checksum(from_hex("0001f203f4f5f6f700")), 0xffff ^ 0xddf2);
    EXPECT_EQ(wire::internet_checksum({}), 0xffff);
}

/// Over a header that holds its own checksum the result is 0; the header is from a capture.
TEST(Checksum, RealIpv4Header) {
    auto octets = from_hex("45000134d18a40004011e42ac0000202c0000201");
    EXPECT_EQ(wire::internet_checksum(octets), 0);
    octets[10] = octets[11] = std::byte{0};
    EXPECT_EQ(wire::internet_checksum(octets), 0xe42a);
}

}  // namespace
