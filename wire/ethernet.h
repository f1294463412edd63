#pragma once
#include <array>

#include "wire/ether_type.h"
#include "wire/layout.h"

namespace wire {

using MacAddress = std::array<std::byte, 6>;

/// Ethernet II, and the first 14 octets of IEEE 802.3. IEEE 802.3, 3.1.1.
struct Ethernet {
    MacAddress destination{};
    MacAddress source{};
    std::uint16_t type{};  ///< a length where it is below `ether_type::first_type`
    bool operator==(const Ethernet&) const = default;
};

template <>
inline constexpr auto layout_of<Ethernet> = layout("eth", "Ethernet II",
    octets<&Ethernet::destination>("eth.dst", "Destination", Kind::ether),
    octets<&Ethernet::source>("eth.src", "Source", Kind::ether),
    bits<&Ethernet::type, 16>("eth.type", "Type").hex().named(ether_type::names));
static_assert(size_of<Ethernet> == 14);

/// Octets of the shortest frame, without its check sequence; shorter packets are padded. IEEE 802.3, 4A.4.2.
inline constexpr unsigned ethernet_minimum = 60;

}  // namespace wire
