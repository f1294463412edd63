#pragma once
#include <array>

#include "wire/ip_protocol.h"
#include "wire/ipv4.h"
#include "wire/layout.h"

namespace wire {

using Ipv6Address = std::array<std::byte, 16>;

/// The IPv6 header. RFC 8200, 3.
struct Ipv6 {
    std::uint8_t version = 6;
    std::uint8_t dscp{};
    std::uint8_t ecn{};
    std::uint32_t flow_label{};
    std::uint16_t payload_length{};  ///< 0 with a jumbo payload option or a segmentation offload
    std::uint8_t next_header{};
    std::uint8_t hop_limit{};
    Ipv6Address source{};
    Ipv6Address destination{};
    bool operator==(const Ipv6&) const = default;
};

template <>
inline constexpr auto layout_of<Ipv6> = layout("ipv6", "Internet Protocol Version 6",
    bits<&Ipv6::version, 4>("ipv6.version", "Version"),
    bits<&Ipv6::dscp, 6>("ipv6.tclass.dscp", "Differentiated services codepoint").as(Kind::uint32).named(dscp_names),
    bits<&Ipv6::ecn, 2>("ipv6.tclass.ecn", "Explicit congestion notification").as(Kind::uint32).named(ecn_names),
    bits<&Ipv6::flow_label, 20>("ipv6.flow", "Flow label").hex(),
    bits<&Ipv6::payload_length, 16>("ipv6.plen", "Payload length"),
    bits<&Ipv6::next_header, 8>("ipv6.nxt", "Next header").named(ip_protocol::names),
    bits<&Ipv6::hop_limit, 8>("ipv6.hlim", "Hop limit"),
    octets<&Ipv6::source>("ipv6.src", "Source address", Kind::ipv6),
    octets<&Ipv6::destination>("ipv6.dst", "Destination address", Kind::ipv6));
static_assert(size_of<Ipv6> == 40);

/// What every extension header but the fragment header begins with. RFC 8200, 4.
struct Ipv6Extension {
    std::uint8_t next_header{};
    std::uint8_t length{};  ///< in units of eight octets, the first eight not counted
    bool operator==(const Ipv6Extension&) const = default;
};

template <>
inline constexpr auto layout_of<Ipv6Extension> = layout("ipv6.hopopts", "IPv6 extension header",
    bits<&Ipv6Extension::next_header, 8>("", "Next header").named(ip_protocol::names),
    bits<&Ipv6Extension::length, 8>("", "Length"));
static_assert(size_of<Ipv6Extension> == 2);

/// The routing header's first four octets. RFC 8200, 4.4.
struct Ipv6Routing {
    std::uint8_t next_header{};
    std::uint8_t length{};
    std::uint8_t type{};
    std::uint8_t segments_left{};
    bool operator==(const Ipv6Routing&) const = default;
};

inline constexpr ValueName ipv6_routing_types[] = {
    {0, "Source route (deprecated)"}, {2, "Mobile IP"}, {3, "RPL source route"}, {4, "Segment routing"},
    {5, "Compact routing, 16 bits"}, {6, "Compact routing, 32 bits"},
};

template <>
inline constexpr auto layout_of<Ipv6Routing> = layout("ipv6.routing", "Routing Header for IPv6",
    bits<&Ipv6Routing::next_header, 8>("ipv6.routing.nxt", "Next header").named(ip_protocol::names),
    bits<&Ipv6Routing::length, 8>("ipv6.routing.len", "Length"),
    bits<&Ipv6Routing::type, 8>("ipv6.routing.type", "Type").named(ipv6_routing_types),
    bits<&Ipv6Routing::segments_left, 8>("ipv6.routing.segleft", "Segments left"));
static_assert(size_of<Ipv6Routing> == 4);

/// The fragment header. RFC 8200, 4.5.
struct Ipv6Fragment {
    std::uint8_t next_header{};
    std::uint8_t reserved_octet{};
    std::uint16_t offset{};  ///< in units of eight octets
    std::uint8_t reserved_bits{};
    bool more{};
    std::uint32_t identification{};
    bool operator==(const Ipv6Fragment&) const = default;
};

template <>
inline constexpr auto layout_of<Ipv6Fragment> = layout("ipv6.fraghdr", "Fragment Header for IPv6",
    bits<&Ipv6Fragment::next_header, 8>("ipv6.fraghdr.nxt", "Next header").named(ip_protocol::names),
    bits<&Ipv6Fragment::reserved_octet, 8>("ipv6.fraghdr.reserved_octet", "Reserved octet").hex(),
    bits<&Ipv6Fragment::offset, 13>("ipv6.fraghdr.offset", "Offset"),
    bits<&Ipv6Fragment::reserved_bits, 2>("ipv6.fraghdr.reserved_bits", "Reserved bits").as(Kind::uint16),
    bits<&Ipv6Fragment::more, 1>("ipv6.fraghdr.more", "More fragments"),
    bits<&Ipv6Fragment::identification, 32>("ipv6.fraghdr.ident", "Identification").hex());
static_assert(size_of<Ipv6Fragment> == 8);

/// The authentication header without its integrity check value. RFC 4302, 2.
struct IpAuth {
    std::uint8_t next_header{};
    std::uint8_t length{};  ///< of the header in units of four octets, less two
    std::array<std::byte, 2> reserved_octets{};
    std::uint32_t spi{};
    std::uint32_t sequence{};
    bool operator==(const IpAuth&) const = default;
};

template <>
inline constexpr auto layout_of<IpAuth> = layout("ah", "Authentication Header",
    bits<&IpAuth::next_header, 8>("ah.next_header", "Next header").named(ip_protocol::names),
    bits<&IpAuth::length, 8>("ah.length", "Length"),
    octets<&IpAuth::reserved_octets>("ah.reserved", "Reserved"),
    bits<&IpAuth::spi, 32>("ah.spi", "Security parameters index").hex(),
    bits<&IpAuth::sequence, 32>("ah.sequence", "Sequence number"));
static_assert(size_of<IpAuth> == 12);

/// Option types of hop-by-hop and destination options. RFC 8200, 4.2; RFC 2675; RFC 2711; RFC 2473.
namespace ipv6_option {
inline constexpr std::uint8_t pad1 = 0x00;
inline constexpr std::uint8_t padn = 0x01;
inline constexpr std::uint8_t tunnel_limit = 0x04;
inline constexpr std::uint8_t router_alert = 0x05;
inline constexpr std::uint8_t jumbo = 0xc2;
}  // namespace ipv6_option

inline constexpr ValueName ipv6_options[] = {
    {ipv6_option::pad1, "Pad1"}, {ipv6_option::padn, "PadN"}, {ipv6_option::tunnel_limit, "Tunnel encapsulation limit"},
    {ipv6_option::router_alert, "Router alert"}, {ipv6_option::jumbo, "Jumbo payload"},
};

/// Octets of an extension header whose length field is `length`. RFC 8200, 4.3.
constexpr std::uint32_t ipv6_extension_size(std::uint8_t length) { return (length + 1u) * 8; }
/// Octets of an authentication header. RFC 4302, 2.2.
constexpr std::uint32_t ip_auth_size(std::uint8_t length) { return (length + 2u) * 4; }

}  // namespace wire
