#pragma once
#include "wire/layout.h"
#include "wire/nsh.h"

namespace wire {

/// VXLAN with the generic protocol extension. draft-ietf-nvo3-vxlan-gpe, 3.
struct VxlanGpe {
    std::uint8_t reserved1{};
    std::uint8_t version{};
    bool has_vni{};
    bool has_protocol{};  ///< without it an Ethernet frame follows
    bool reserved2{};
    bool oam{};
    std::uint16_t reserved3{};
    std::uint8_t next_protocol{};
    std::uint32_t vni{};
    std::uint8_t reserved4{};
    bool operator==(const VxlanGpe&) const = default;
};

template <>
inline constexpr auto layout_of<VxlanGpe> = layout("vxlan", "Virtual eXtensible Local Area Network",
    bits<&VxlanGpe::reserved1, 2>("", ""),
    bits<&VxlanGpe::version, 2>("vxlan.ver", "Version"),
    bits<&VxlanGpe::has_vni, 1>("vxlan.i_bit", "Instance").as(Kind::uint8),
    bits<&VxlanGpe::has_protocol, 1>("vxlan.p_bit", "Next protocol bit").as(Kind::uint8),
    bits<&VxlanGpe::reserved2, 1>("", ""),
    bits<&VxlanGpe::oam, 1>("vxlan.o_bit", "OAM bit").as(Kind::uint8),
    bits<&VxlanGpe::reserved3, 16>("vxlan.reserved_16", "Reserved"),
    bits<&VxlanGpe::next_protocol, 8>("vxlan.next_proto", "Next protocol").named(nsh_protocol::names),
    bits<&VxlanGpe::vni, 24>("vxlan.vni", "VXLAN network identifier (VNI)"),
    bits<&VxlanGpe::reserved4, 8>("vxlan.reserved8", "Reserved"));
static_assert(size_of<VxlanGpe> == 8);

/// The bits of the first octet that the draft leaves unused.
inline constexpr std::uint8_t vxlan_gpe_reserved_flags = 0xc2;

}  // namespace wire
