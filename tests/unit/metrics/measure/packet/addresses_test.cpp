#include <gtest/gtest.h>
#include <vector>

#include "metrics/measure/packet/packet_addresses.h"

namespace metrics {
namespace {
using Family = wire::AddressFamily;

dissect::Dissection with(Family family, std::uint32_t source, std::uint32_t destination) {
    dissect::Dissection dissection;
    dissection.network.family = family;
    dissection.network.source_offset = source;
    dissection.network.destination_offset = destination;
    return dissection;
}

std::vector<std::byte> counting(std::size_t size) {
    std::vector<std::byte> octets(size);
    for (std::size_t i = 0; i < size; ++i) octets[i] = static_cast<std::byte>(i);
    return octets;
}

TEST(Address, is_read_where_the_dissection_says) {
    const auto octets = counting(64);
    const auto ipv4 = with(Family::ipv4, 26, 30);
    EXPECT_EQ(to_text(source_address(ipv4, octets)), "26.27.28.29");
    EXPECT_EQ(to_text(destination_address(ipv4, octets)), "30.31.32.33");
    const auto ipv6 = with(Family::ipv6, 22, 38);
    EXPECT_EQ(to_text(source_address(ipv6, octets)), "1617:1819:1a1b:1c1d:1e1f:2021:2223:2425");
    EXPECT_EQ(to_text(destination_address(ipv6, octets)), "2627:2829:2a2b:2c2d:2e2f:3031:3233:3435");
    const auto lid = with(Family::lid, 6, 2);
    EXPECT_EQ(to_text(source_address(lid, octets)), "lid 1543");  // 0x0607
    EXPECT_EQ(to_text(destination_address(lid, octets)), "lid 515");
    // Unused octets are zero, so that comparison and hash may look at all of them.
    const Address short_one = source_address(lid, octets);
    for (std::size_t i = 2; i < 16; ++i) EXPECT_EQ(short_one.octets[i], 0);
    EXPECT_NE(source_address(ipv6, octets), source_address(with(Family::gid, 22, 38), octets));
}

TEST(Address, beyond_what_was_captured_is_none) {
    const auto octets = counting(34);
    EXPECT_EQ(destination_address(with(Family::ipv4, 26, 30), octets).family, Family::ipv4);
    EXPECT_EQ(destination_address(with(Family::ipv4, 26, 31), octets), Address{});
    EXPECT_EQ(destination_address(with(Family::ipv4, 26, 0xffffffff), octets), Address{});
    EXPECT_EQ(destination_address(with(Family::ipv6, 2, 18), octets).family, Family::ipv6);
    EXPECT_EQ(destination_address(with(Family::ipv6, 2, 19), octets), Address{});
    EXPECT_EQ(source_address(with(Family::ipv4, 0, 0), {}), Address{});
    EXPECT_EQ(source_address(with(Family::none, 0, 0), octets), Address{});
    EXPECT_EQ(to_text(Address{}), "?");
}

TEST(Address, is_written_as_people_write_it) {
    Address address;
    address.family = Family::ipv6;
    address.octets = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    EXPECT_EQ(to_text(address), "2001:db8::1");  // RFC 5952
    address.family = Family::gid;
    EXPECT_EQ(to_text(address), "2001:db8::1");
}

}  // namespace
}  // namespace metrics
