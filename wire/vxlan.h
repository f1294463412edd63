#pragma once
#include "wire/layout.h"

namespace wire {

/// VXLAN with the group policy extension. RFC 7348, 5; draft-smith-vxlan-group-policy, 2.1.
struct Vxlan {
    bool group_policy{};
    std::uint8_t reserved1{};
    bool has_vni{};
    std::uint8_t reserved2{};
    bool dont_learn{};
    std::uint8_t reserved3{};
    bool policy_applied{};
    std::uint8_t reserved4{};
    std::uint16_t group{};
    std::uint32_t vni{};
    std::uint8_t reserved5{};
    bool operator==(const Vxlan&) const = default;
};

template <>
inline constexpr auto layout_of<Vxlan> = layout("vxlan", "Virtual eXtensible Local Area Network",
    bits<&Vxlan::group_policy, 1>("vxlan.flag_g", "GBP extension"),
    bits<&Vxlan::reserved1, 3>("", ""),
    bits<&Vxlan::has_vni, 1>("vxlan.flag_i", "VXLAN network ID (VNI)"),
    bits<&Vxlan::reserved2, 4>("", ""),
    bits<&Vxlan::dont_learn, 1>("vxlan.flag_d", "Don't learn"),
    bits<&Vxlan::reserved3, 2>("", ""),
    bits<&Vxlan::policy_applied, 1>("vxlan.flag_a", "Policy applied"),
    bits<&Vxlan::reserved4, 3>("", ""),
    bits<&Vxlan::group, 16>("vxlan.gbp", "Group policy ID"),
    bits<&Vxlan::vni, 24>("vxlan.vni", "VXLAN network identifier (VNI)"),
    bits<&Vxlan::reserved5, 8>("vxlan.reserved8", "Reserved"));
static_assert(size_of<Vxlan> == 8);

/// The bits of the first 16 that RFC 7348 and the extension leave unused.
inline constexpr std::uint16_t vxlan_reserved_flags = 0x77b7;

}  // namespace wire
