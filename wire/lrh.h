#pragma once
#include <array>
#include <cstdint>

#include "wire/infiniband.h"

namespace wire {

/// Local Route Header: the link layer of InfiniBand. IBTA vol. 1, 7.7.
struct Lrh {
    std::uint8_t virtual_lane = 0;
    std::uint8_t link_version = 0;
    std::uint8_t service_level = 0;
    std::uint8_t link_next_header = 0;
    std::uint16_t destination_lid = 0;
    std::uint16_t packet_length = 0;  ///< words of 4 octets from the LRH's first octet to the last before the VCRC
    std::uint16_t source_lid = 0;
};

/// What follows an LRH. IBTA vol. 1, 7.7.5.
enum class LinkNextHeader : std::uint8_t { raw = 0, ipv6 = 1, bth = 2, grh = 3 };

inline constexpr std::array<ValueName, 4> link_next_header_names{{
    {0, "Raw, with an EtherType"},
    {1, "Raw, IPv6"},
    {2, "IBA local, BTH"},
    {3, "IBA global, GRH"},
}};

template <>
inline constexpr auto layout_of<Lrh> = layout(
    "infiniband.lrh", "Local Route Header",
    bits<&Lrh::virtual_lane, 4>("infiniband.lrh.vl", "Virtual Lane").hex(),
    bits<&Lrh::link_version, 4>("infiniband.lrh.lver", "Link Version"),
    bits<&Lrh::service_level, 4>("infiniband.lrh.sl", "Service Level"),
    reserved<2>(),
    bits<&Lrh::link_next_header, 2>("infiniband.lrh.lnh", "Link Next Header").hex().named(link_next_header_names),
    bits<&Lrh::destination_lid, 16>("infiniband.lrh.dlid", "Destination Local ID"),
    reserved<5>(),
    bits<&Lrh::packet_length, 11>("infiniband.lrh.pktlen", "Packet Length"),
    bits<&Lrh::source_lid, 16>("infiniband.lrh.slid", "Source Local ID"));
static_assert(size_of<Lrh> == 8);

inline constexpr auto lrh_fields = fields_with<Lrh>(std::array{
    reserved_bits("infiniband.lrh.reserved2", 12, 2),
    reserved_bits("infiniband.lrh.reserved5", 32, 5, Kind::uint16),
});

}  // namespace wire
