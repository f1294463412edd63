#pragma once
#include "wire/ether_type.h"
#include "wire/layout.h"

namespace wire {

/// Cisco's VN-Tag between a fabric extender and its switch: the virtual interfaces that a frame comes from and goes to.
struct VnTag {
    bool from_bridge{};
    bool is_list{};  ///< the destination is a list of interfaces (vif_list_id)
    std::uint16_t destination{};
    bool looped{};
    bool reserved_bit{};
    std::uint8_t version{};
    std::uint16_t source{};
    std::uint16_t type{};  ///< of what follows
    bool operator==(const VnTag&) const = default;
};

inline constexpr ValueName vntag_directions[] = {{0, "To bridge"}, {1, "From bridge"}};
inline constexpr ValueName vntag_pointers[] = {{0, "vif_id"}, {1, "vif_list_id"}};

template <>
inline constexpr auto layout_of<VnTag> = layout("vntag", "VN-Tag",
    bits<&VnTag::from_bridge, 1>("vntag.dir", "Direction").named(vntag_directions),
    bits<&VnTag::is_list, 1>("vntag.ptr", "Pointer").named(vntag_pointers),
    bits<&VnTag::destination, 14>("vntag.dst", "Destination").as(Kind::uint32),
    bits<&VnTag::looped, 1>("vntag.looped", "Looped"),
    bits<&VnTag::reserved_bit, 1>("vntag.r", "Reserved").as(Kind::uint32),
    bits<&VnTag::version, 2>("vntag.version", "Version").as(Kind::uint32),
    bits<&VnTag::source, 12>("vntag.src", "Source").as(Kind::uint32),
    bits<&VnTag::type, 16>("vntag.etype", "Type").hex().named(ether_type::names));
static_assert(size_of<VnTag> == 6);

}  // namespace wire
