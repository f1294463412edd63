#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/infiniband.h"

namespace wire {

/// Global Route Header: the network layer of InfiniBand and of RoCEv1, in the form of an IPv6 header. IBTA vol. 1, 8.3.
struct Grh {
    std::uint8_t ip_version = 6;
    std::uint8_t traffic_class = 0;
    std::uint32_t flow_label = 0;
    std::uint16_t payload_length = 0;  ///< octets after the GRH, up to the ICRC's last
    std::uint8_t next_header = 0;
    std::uint8_t hop_limit = 0;
    std::array<std::byte, 16> source_gid{};
    std::array<std::byte, 16> destination_gid{};
};

/// The next header that says a BTH follows. IBTA vol. 1, 8.3.5.
inline constexpr std::uint8_t grh_next_header_bth = 0x1b;

template <>
inline constexpr auto layout_of<Grh> = layout(
    "infiniband.grh", "Global Route Header",
    bits<&Grh::ip_version, 4>("infiniband.grh.ipver", "IP Version"),
    bits<&Grh::traffic_class, 8>("infiniband.grh.tclass", "Traffic Class").as(Kind::uint16),
    bits<&Grh::flow_label, 20>("infiniband.grh.flowlabel", "Flow Label").as(Kind::uint32),
    bits<&Grh::payload_length, 16>("infiniband.grh.paylen", "Payload Length"),
    bits<&Grh::next_header, 8>("infiniband.grh.nxthdr", "Next Header"),
    bits<&Grh::hop_limit, 8>("infiniband.grh.hoplmt", "Hop Limit"),
    octets<&Grh::source_gid>("infiniband.grh.sgid", "Source GID", Kind::ipv6),
    octets<&Grh::destination_gid>("infiniband.grh.dgid", "Destination GID", Kind::ipv6));
static_assert(size_of<Grh> == 40);

}  // namespace wire
