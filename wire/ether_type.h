#pragma once
#include <cstdint>

#include "wire/field.h"

/// The EtherType registry of IEEE 802, as far as it leads to RDMA or occurs next to it.
namespace wire::ether_type {

inline constexpr std::uint16_t ipv4 = 0x0800;
inline constexpr std::uint16_t arp = 0x0806;
inline constexpr std::uint16_t teb = 0x6558;      ///< Transparent Ethernet Bridging: a whole Ethernet frame follows
inline constexpr std::uint16_t vlan = 0x8100;     ///< 802.1Q C-TAG
inline constexpr std::uint16_t ipv6 = 0x86dd;
inline constexpr std::uint16_t mac_control = 0x8808;
inline constexpr std::uint16_t mpls = 0x8847;
inline constexpr std::uint16_t mpls_multicast = 0x8848;
inline constexpr std::uint16_t qinq = 0x88a8;     ///< 802.1ad S-TAG
inline constexpr std::uint16_t erspan2 = 0x88be;  ///< ERSPAN types I and II, in GRE
inline constexpr std::uint16_t lldp = 0x88cc;
inline constexpr std::uint16_t roce = 0x8915;     ///< RoCE version 1: a GRH follows
inline constexpr std::uint16_t qinq_old = 0x9100; ///< S-TAG before 802.1ad gave it a number
inline constexpr std::uint16_t erspan3 = 0x22eb;
inline constexpr std::uint16_t pppoe = 0x8864;          ///< PPPoE, session stage
inline constexpr std::uint16_t macsec = 0x88e5;
inline constexpr std::uint16_t cisco_metadata = 0x8909;
inline constexpr std::uint16_t vntag = 0x8926;
inline constexpr std::uint16_t etag = 0x893f;
inline constexpr std::uint16_t nsh = 0x894f;
inline constexpr std::uint16_t avsp = 0xd28b;           ///< Arista: a time stamp

/// Values below are lengths. IEEE 802.3, 3.2.6.
inline constexpr std::uint16_t first_type = 0x0600;

inline constexpr ValueName names[] = {
    {ipv4, "IPv4"},          {arp, "ARP"},      {teb, "Transparent Ethernet bridging"},
    {vlan, "802.1Q VLAN"},   {ipv6, "IPv6"},    {mac_control, "MAC control"},
    {mpls, "MPLS"},          {qinq, "802.1ad provider bridging"},
    {erspan2, "ERSPAN"},     {lldp, "LLDP"},    {roce, "RoCE version 1"},
    {qinq_old, "QinQ: old"}, {erspan3, "ERSPAN type III"}, {mpls_multicast, "MPLS multicast"},
    {pppoe, "PPPoE session"}, {macsec, "MACsec"},  {cisco_metadata, "Cisco MetaData"},
    {vntag, "VN-Tag"},       {etag, "802.1BR E-Tag"}, {nsh, "NSH"}, {avsp, "Arista time stamp"},
};

}  // namespace wire::ether_type
