#pragma once
#include <cstdint>

#include "wire/infiniband.h"

namespace wire {

/// Atomic ACK Extended Transport Header. IBTA vol. 1, 9.3.5.3.
struct AtomicAckEth {
    std::uint64_t original_data = 0;
};

template <>
inline constexpr auto layout_of<AtomicAckEth> = layout(
    "infiniband.atomicacketh", "Atomic ACK Extended Transport Header",
    bits<&AtomicAckEth::original_data, 64>("infiniband.atomicacketh.origremdt", "Original Remote Data"));
static_assert(size_of<AtomicAckEth> == 8);

}  // namespace wire
