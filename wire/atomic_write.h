#pragma once
#include <cstdint>

#include "wire/infiniband.h"

namespace wire {

/// The data of an ATOMIC WRITE: eight octets, written as one. IBTA vol. 1, Annex A19.
struct AtomicWrite {
    std::uint64_t data = 0;
};

template <>
inline constexpr auto layout_of<AtomicWrite> = layout(
    "rdma.atomicwrite", "Atomic Write Data",
    bits<&AtomicWrite::data, 64>("rdma.atomicwrite.data", "Data").hex());
static_assert(size_of<AtomicWrite> == 8);

}  // namespace wire
