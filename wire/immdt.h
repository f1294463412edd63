#pragma once
#include <array>
#include <cstddef>

#include "wire/infiniband.h"

namespace wire {

/// Immediate Data: four octets for the receiver's completion, in the order the application gave them. IBTA vol. 1, 9.3.6.
struct ImmDt {
    std::array<std::byte, 4> data{};
};

template <>
inline constexpr auto layout_of<ImmDt> = layout(
    "infiniband.immdt", "Immediate Data",
    octets<&ImmDt::data>("infiniband.immdt", "Immediate Data"));
static_assert(size_of<ImmDt> == 4);

}  // namespace wire
