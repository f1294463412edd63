#pragma once
#include <cstdint>

#include "wire/rdmap_atomic.h"

/// What the atomic operations compute. RFC 7306 section 5.1.
namespace iwarp::rdmap {

/// Sums the fields of `value` and `addend` independently of each other; `tops` has a bit set at the most significant
/// place of each field, where a carry is dropped. 0: one field of 64 bits.
constexpr std::uint64_t add_fields(std::uint64_t value, std::uint64_t addend, std::uint64_t tops) {
    // Without the tops nothing can leave a field; the tops themselves are sums without carry.
    return ((value & ~tops) + (addend & ~tops)) ^ ((value ^ addend) & tops);
}

/// The content of the memory after a CmpSwap.
constexpr std::uint64_t compare_swap(std::uint64_t value, const wire::RdmapAtomicRequest& request) {
    if (((request.compare ^ value) & request.compare_mask) != 0) return value;
    return (value & ~request.mask) | (request.data & request.mask);
}

/// Performs the request on eight bytes in host order, aligned to eight, atomically for every other thread, and returns
/// the former value. `request.operation` is one of wire::AtomicOperation.
std::uint64_t perform_atomic(const wire::RdmapAtomicRequest& request, std::byte* memory);

}  // namespace iwarp::rdmap
