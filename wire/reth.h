#pragma once
#include <cstdint>

#include "wire/infiniband.h"

namespace wire {

/// RDMA Extended Transport Header. IBTA vol. 1, 9.3.3.
struct Reth {
    std::uint64_t virtual_address = 0;
    std::uint32_t remote_key = 0;
    std::uint32_t dma_length = 0;  ///< octets of the whole message
};

template <>
inline constexpr auto layout_of<Reth> = layout(
    "infiniband.reth", "RDMA Extended Transport Header",
    bits<&Reth::virtual_address, 64>("infiniband.reth.va", "Virtual Address").hex(),
    bits<&Reth::remote_key, 32>("infiniband.reth.r_key", "Remote Key").hex(),
    bits<&Reth::dma_length, 32>("infiniband.reth.dmalen", "DMA Length"));
static_assert(size_of<Reth> == 16);

}  // namespace wire
