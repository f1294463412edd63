#pragma once
#include <cstdint>

#include "wire/infiniband.h"

namespace wire {

/// XRC Extended Transport Header: the shared receive queue a request is for. IBTA vol. 1, Annex A14.
struct Xrceth {
    std::uint32_t srq = 0;
};

template <>
inline constexpr auto layout_of<Xrceth> = layout(
    "rdma.xrceth", "XRC Extended Transport Header",
    reserved<8>(),
    bits<&Xrceth::srq, 24>("rdma.xrceth.xrcsrq", "XRC Shared Receive Queue").hex());
static_assert(size_of<Xrceth> == 4);

}  // namespace wire
