#pragma once
#include "wire/layout.h"

namespace wire {

/// PPP over Ethernet, session stage. RFC 2516, 4.
struct Pppoe {
    std::uint8_t version = 1;
    std::uint8_t type = 1;
    std::uint8_t code{};
    std::uint16_t session{};
    std::uint16_t length{};  ///< of what follows
    bool operator==(const Pppoe&) const = default;
};

template <>
inline constexpr auto layout_of<Pppoe> = layout("pppoes", "PPP-over-Ethernet Session",
    bits<&Pppoe::version, 4>("pppoe.version", "Version"),
    bits<&Pppoe::type, 4>("pppoe.type", "Type"),
    bits<&Pppoe::code, 8>("pppoe.code", "Code").hex(),
    bits<&Pppoe::session, 16>("pppoe.session_id", "Session").hex(),
    bits<&Pppoe::length, 16>("pppoe.payload_length", "Payload length"));
static_assert(size_of<Pppoe> == 6);

namespace ppp_protocol {
inline constexpr std::uint16_t ipv4 = 0x0021;
inline constexpr std::uint16_t ipv6 = 0x0057;
inline constexpr std::uint16_t mpls = 0x0281;
/// Below: packets of a network protocol. From here on: traffic of little volume, and control. RFC 1661, 2.
inline constexpr std::uint16_t first_control = 0x4000;

inline constexpr ValueName names[] = {
    {ipv4, "IPv4"}, {ipv6, "IPv6"}, {mpls, "MPLS"}, {0x8021, "IPCP"}, {0x8057, "IPv6CP"},
    {0xc021, "LCP"}, {0xc023, "PAP"}, {0xc223, "CHAP"},
};
}  // namespace ppp_protocol

/// PPP's protocol field as PPPoE carries it: without address and control, and never compressed. RFC 2516, 7.
struct Ppp {
    std::uint16_t protocol{};
    bool operator==(const Ppp&) const = default;
};

template <>
inline constexpr auto layout_of<Ppp> = layout("ppp", "Point-to-Point Protocol",
    bits<&Ppp::protocol, 16>("ppp.protocol", "Protocol").hex().named(ppp_protocol::names));
static_assert(size_of<Ppp> == 2);

}  // namespace wire
