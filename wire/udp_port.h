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

}  // namespace wire::udp_port
