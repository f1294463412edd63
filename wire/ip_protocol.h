#pragma once
#include <cstdint>

#include "wire/field.h"

/// The protocol numbers of IANA that IPv4's Protocol and IPv6's Next Header share, as far as they lead to RDMA or are
/// next to it.
namespace wire::ip_protocol {

inline constexpr std::uint8_t hop_by_hop = 0;
inline constexpr std::uint8_t icmp = 1;
inline constexpr std::uint8_t igmp = 2;
inline constexpr std::uint8_t ipv4 = 4;
inline constexpr std::uint8_t tcp = 6;
inline constexpr std::uint8_t udp = 17;
inline constexpr std::uint8_t bth = 27;  ///< IBTA's number for "transport header follows" in a GRH
inline constexpr std::uint8_t ipv6 = 41;
inline constexpr std::uint8_t routing = 43;
inline constexpr std::uint8_t fragment = 44;
inline constexpr std::uint8_t gre = 47;
inline constexpr std::uint8_t esp = 50;
inline constexpr std::uint8_t auth = 51;
inline constexpr std::uint8_t icmpv6 = 58;
inline constexpr std::uint8_t no_next = 59;
inline constexpr std::uint8_t destination_options = 60;
inline constexpr std::uint8_t mpls = 137;
inline constexpr std::uint8_t ethernet = 143;  ///< RFC 8986, 10.1
inline constexpr std::uint8_t nsh = 145;       ///< RFC 9491, 6.1

inline constexpr ValueName names[] = {
    {hop_by_hop, "IPv6 hop-by-hop options"}, {icmp, "ICMP"}, {igmp, "IGMP"}, {ipv4, "IPv4 in IP"}, {tcp, "TCP"},
    {udp, "UDP"}, {ipv6, "IPv6 in IP"}, {routing, "IPv6 routing header"}, {fragment, "IPv6 fragment header"},
    {gre, "GRE"}, {esp, "ESP"}, {auth, "AH"}, {icmpv6, "ICMPv6"}, {no_next, "IPv6 no next header"},
    {destination_options, "IPv6 destination options"}, {mpls, "MPLS in IP"},
    {ethernet, "Ethernet"}, {nsh, "NSH"},
};

}  // namespace wire::ip_protocol
