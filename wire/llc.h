#pragma once
#include "wire/layout.h"

namespace wire {

/// Logical link control with a one-octet control field, which is all that SNAP needs. IEEE 802.2, 3.2.
struct Llc {
    std::uint8_t dsap{};
    std::uint8_t ssap{};
    std::uint8_t control{};
    bool operator==(const Llc&) const = default;
};

template <>
inline constexpr auto layout_of<Llc> = layout("llc", "Logical-Link Control",
    bits<&Llc::dsap, 8>("llc.dsap", "DSAP").hex(),
    bits<&Llc::ssap, 8>("llc.ssap", "SSAP").hex(),
    bits<&Llc::control, 8>("llc.control", "Control").hex().as(Kind::uint16));
static_assert(size_of<Llc> == 3);

/// What follows an LLC header with both access points 0xaa. IEEE 802, 9.2.
struct Snap {
    std::uint32_t oui{};
    std::uint16_t protocol{};  ///< an EtherType where `oui` is 0
    bool operator==(const Snap&) const = default;
};

template <>
inline constexpr auto layout_of<Snap> = layout("llc", "SNAP",
    bits<&Snap::oui, 24>("llc.oui", "Organization code"),
    bits<&Snap::protocol, 16>("llc.type", "Type").hex());
static_assert(size_of<Snap> == 5);

inline constexpr std::uint8_t snap_access_point = 0xaa;
inline constexpr std::uint8_t unnumbered_information = 0x03;

/// The two low bits of an unnumbered control field are 11; other formats take two octets. IEEE 802.2, 5.4.
constexpr bool is_unnumbered(std::uint8_t control) { return (control & 3) == 3; }

}  // namespace wire
