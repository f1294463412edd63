#pragma once
#include <array>
#include <cstddef>

#include "wire/infiniband.h"

namespace wire {

/// Invalidate Extended Transport Header: the key that the receiver is to invalidate. IBTA vol. 1, 9.3.7.
struct Ieth {
    std::array<std::byte, 4> remote_key{};
};

template <>
inline constexpr auto layout_of<Ieth> = layout(
    "infiniband.ieth", "Invalidate Extended Transport Header",
    octets<&Ieth::remote_key>("infiniband.ieth", "RKey"));
static_assert(size_of<Ieth> == 4);

}  // namespace wire
