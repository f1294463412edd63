#pragma once
#include <cstdint>

/// Destination ports after which more headers follow.
namespace wire::udp_port {

inline constexpr std::uint16_t gre = 4754;      ///< RFC 8086
inline constexpr std::uint16_t vxlan = 4789;    ///< RFC 7348
inline constexpr std::uint16_t vxlan_gpe = 4790;///< draft-ietf-nvo3-vxlan-gpe
inline constexpr std::uint16_t roce = 4791;     ///< IBTA annex A17
inline constexpr std::uint16_t geneve = 6081;   ///< RFC 8926
inline constexpr std::uint16_t mpls = 6635;     ///< RFC 7510
inline constexpr std::uint16_t vxlan_old = 8472;///< what Linux uses for VXLAN if no port is named

/// Whether the headers after the port are those of a tunnel that is read. `is_unread_udp_port` (wire/carrier.h) has the
/// others.
constexpr bool is_tunnel(std::uint16_t port) {
    switch (port) {
        case gre:
        case vxlan:
        case vxlan_gpe:
        case geneve:
        case mpls:
        case vxlan_old: return true;
        default: return false;
    }
}

}  // namespace wire::udp_port
