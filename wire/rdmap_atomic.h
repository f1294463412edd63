#pragma once
#include <cstdint>

#include "wire/layout.h"

/// Atomic operations of RDMAP. RFC 7306 section 5.
namespace wire {

/// RFC 7306 Figure 5.
enum class AtomicOperation : std::uint8_t { fetch_add = 0, compare_swap = 2 };

inline constexpr ValueName atomic_operations[] = {{0, "FetchAdd"}, {2, "CmpSwap"}};

/// RFC 7306 section 5.2.1. What the data and mask mean depends on the operation, and so do their names: three layouts
/// of the same octets.
struct RdmapAtomicRequest {
    std::uint32_t reserved = 0;
    std::uint8_t operation = 0;
    std::uint32_t request_id = 0;
    std::uint32_t remote_stag = 0;
    std::uint64_t remote_offset = 0;
    std::uint64_t data = 0;
    std::uint64_t mask = ~std::uint64_t{0};
    std::uint64_t compare = 0;
    std::uint64_t compare_mask = ~std::uint64_t{0};
};
struct RdmapFetchAdd : RdmapAtomicRequest {};
struct RdmapCompareSwap : RdmapAtomicRequest {};

/// RFC 7306 section 5.2.2.
struct RdmapAtomicResponse {
    std::uint32_t request_id = 0;
    std::uint64_t original = 0;
};

namespace detail {
template <class H>
constexpr auto atomic_layout(std::string_view data, std::string_view data_label, std::string_view mask,
                             std::string_view mask_label) {
    return layout(
        "", "", bits<&H::reserved, 28>("iwarp_rdma.atomic.reserved", "Reserved"),
        bits<&H::operation, 4>("iwarp_rdma.atomic.opcode", "OpCode").as(Kind::uint32).named(atomic_operations),
        bits<&H::request_id, 32>("iwarp_rdma.atomic.request_identifier", "Request Identifier"),
        bits<&H::remote_stag, 32>("iwarp_rdma.atomic.remote_stag", "Remote STag"),
        bits<&H::remote_offset, 64>("iwarp_rdma.atomic.remote_tagged_offset", "Remote Tagged Offset"),
        bits<&H::data, 64>(data, data_label), bits<&H::mask, 64>(mask, mask_label).hex(),
        bits<&H::compare, 64>("iwarp_rdma.atomic.compare_data", "Compare Data"),
        bits<&H::compare_mask, 64>("iwarp_rdma.atomic.compare_mask", "Compare Mask").hex());
}
}  // namespace detail

template <>
inline constexpr auto layout_of<RdmapAtomicRequest> = detail::atomic_layout<RdmapAtomicRequest>("rdma.atomic.data",
                                                                                                "Add or Swap Data",
                                                                                                "rdma.atomic.mask",
                                                                                                "Add or Swap Mask");
template <>
inline constexpr auto layout_of<RdmapFetchAdd> = detail::atomic_layout<RdmapFetchAdd>("iwarp_rdma.atomic.add_data",
                                                                                      "Add Data",
                                                                                      "iwarp_rdma.atomic.add_mask",
                                                                                      "Add Mask");
template <>
inline constexpr auto layout_of<RdmapCompareSwap> = detail::atomic_layout<RdmapCompareSwap>(
    "iwarp_rdma.atomic.swap_data", "Swap Data", "iwarp_rdma.atomic.swap_mask", "Swap Mask");

template <>
inline constexpr auto layout_of<RdmapAtomicResponse> =
    layout("", "",
           bits<&RdmapAtomicResponse::request_id, 32>("iwarp_rdma.atomic.original_request_identifier",
                                                      "Original Request Identifier"),
           bits<&RdmapAtomicResponse::original, 64>("iwarp_rdma.atomic.original_remote_data_value",
                                                    "Original Remote Data Value"));

}  // namespace wire
