#pragma once
#include <cstdint>

#include "wire/infiniband.h"

namespace wire {

/// Datagram Extended Transport Header. IBTA vol. 1, 9.3.2.
struct Deth {
    std::uint32_t queue_key = 0;
    std::uint32_t source_qp = 0;
};

template <>
inline constexpr auto layout_of<Deth> = layout(
    "infiniband.deth", "Datagram Extended Transport Header",
    bits<&Deth::queue_key, 32>("infiniband.deth.q_key", "Queue Key").as(Kind::uint64).hex(),
    reserved<8>(),
    bits<&Deth::source_qp, 24>("infiniband.deth.srcqp", "Source Queue Pair").as(Kind::uint32).hex());
static_assert(size_of<Deth> == 8);

inline constexpr auto deth_fields = fields_with<Deth>(std::array{reserved_octets(4, 1)});

}  // namespace wire
