#pragma once
#include <array>

#include "wire/ether_type.h"
#include "wire/layout.h"

namespace wire {

/// What LINKTYPE_IPOIB puts before a packet: 40 octets of the receive buffer's GRH area (a GRH where the packet had
/// one; on transmission 20 octets of zero and the 20 octets of the destination's hardware address), then RFC 4391's
/// own header.
struct Ipoib {
    std::array<std::byte, 20> grh_first{};
    std::array<std::byte, 20> grh_last{};
    std::uint16_t type{};
    std::uint16_t reserved_field{};
    bool operator==(const Ipoib&) const = default;
};

template <>
inline constexpr auto layout_of<Ipoib> = layout("ipoib", "IP over InfiniBand",
    octets<&Ipoib::grh_first>("", ""),
    octets<&Ipoib::grh_last>("", ""),
    bits<&Ipoib::type, 16>("ipoib.type", "Type").hex().named(ether_type::names),
    bits<&Ipoib::reserved_field, 16>("ipoib.reserved", "Reserved").hex());
static_assert(size_of<Ipoib> == 44);

}  // namespace wire
