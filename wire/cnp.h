#pragma once
#include <array>
#include <cstddef>

#include "wire/infiniband.h"

namespace wire {

/// What a Congestion Notification Packet carries instead of a payload: 16 reserved octets. IBTA vol. 1, Annex A17.
struct Cnp {
    std::array<std::byte, 16> reserved{};
};

template <>
inline constexpr auto layout_of<Cnp> = layout(
    "rdma.cnp", "Congestion Notification Packet",
    octets<&Cnp::reserved>("rdma.cnp.reserved", "Reserved"));
static_assert(size_of<Cnp> == 16);

}  // namespace wire
