#pragma once
#include "wire/ether_type.h"
#include "wire/layout.h"

namespace wire {

/// The four octets that follow a tag protocol identifier: 802.1Q's C-TAG and 802.1ad's S-TAG alike. IEEE 802.1Q, 9.6.
struct Vlan {
    std::uint8_t priority{};
    bool drop_eligible{};
    std::uint16_t id{};
    std::uint16_t type{};  ///< of what follows
    bool operator==(const Vlan&) const = default;
};

template <>
inline constexpr auto layout_of<Vlan> = layout("vlan", "802.1Q Virtual LAN",
    bits<&Vlan::priority, 3>("vlan.priority", "Priority").as(Kind::uint16),
    bits<&Vlan::drop_eligible, 1>("vlan.dei", "Drop eligible"),
    bits<&Vlan::id, 12>("vlan.id", "VLAN identifier"),
    bits<&Vlan::type, 16>("vlan.etype", "Type").hex().named(ether_type::names));
static_assert(size_of<Vlan> == 4);

}  // namespace wire
