#pragma once
#include <cstdint>

#include "wire/infiniband.h"

namespace wire {

/// Atomic Extended Transport Header. IBTA vol. 1, 9.3.4.
struct AtomicEth {
    std::uint64_t virtual_address = 0;
    std::uint32_t remote_key = 0;
    std::uint64_t swap_or_add = 0;
    std::uint64_t compare = 0;
};

template <>
inline constexpr auto layout_of<AtomicEth> = layout(
    "infiniband.atomiceth", "Atomic Extended Transport Header",
    bits<&AtomicEth::virtual_address, 64>("infiniband.reth.va", "Virtual Address").hex(),
    bits<&AtomicEth::remote_key, 32>("infiniband.reth.r_key", "Remote Key").hex(),
    bits<&AtomicEth::swap_or_add, 64>("infiniband.atomiceth.swapdt", "Swap (Or Add) Data"),
    bits<&AtomicEth::compare, 64>("infiniband.atomiceth.cmpdt", "Compare Data"));
static_assert(size_of<AtomicEth> == 28);

}  // namespace wire
