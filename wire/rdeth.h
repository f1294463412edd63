#pragma once
#include <cstdint>

#include "wire/infiniband.h"

namespace wire {

/// Reliable Datagram Extended Transport Header. IBTA vol. 1, 9.3.1.
struct Rdeth {
    std::uint32_t ee_context = 0;
};

template <>
inline constexpr auto layout_of<Rdeth> = layout(
    "infiniband.rdeth", "Reliable Datagram Extended Transport Header",
    reserved<8>(),
    bits<&Rdeth::ee_context, 24>("infiniband.rdeth.eecnxt", "E2E Context"));
static_assert(size_of<Rdeth> == 4);

inline constexpr auto rdeth_fields = fields_with<Rdeth>(std::array{reserved_octets(0, 1)});

}  // namespace wire
