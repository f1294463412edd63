#pragma once
#include <cstdint>
#include <isa-l/crc.h>

#include "base/bytes.h"

/// The CRCs of ISA-L, with the vector registers restored to a state in which other code is fast.
namespace wire::detail {

/// Clears the upper parts of the vector registers. Where the processor has registers of 512 bits, the library uses them
/// and leaves their upper parts in use. SSE instructions, which is nearly all of this program, then wait for the old
/// content and take a third longer.
inline void leave_wide_registers() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx"))
        asm volatile("vzeroupper" ::
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                           "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
#endif
}

/// The register of CRC-32C (iSCSI) after these octets, at most 2^31 - 1. It is inverted neither before nor after.
inline std::uint32_t library_crc32c(std::uint32_t state, base::Bytes octets) {
    // The library takes a pointer to non-const but only reads.
    auto* const first = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(octets.data()));
    state = crc32_iscsi(first, static_cast<int>(octets.size()), state);
    leave_wide_registers();
    return state;
}

/// Ethernet's CRC-32 of the data whose CRC is `crc` (0: no data), followed by these octets.
inline std::uint32_t library_crc32(std::uint32_t crc, base::Bytes octets) {
    crc = crc32_gzip_refl(crc, reinterpret_cast<const unsigned char*>(octets.data()), octets.size());
    leave_wide_registers();
    return crc;
}

}  // namespace wire::detail
