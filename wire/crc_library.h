#pragma once
#include <cstdint>
#include <isa-l/crc.h>

#include "base/bytes.h"

/// ISA-L's CRCs, and the registers left as the code after them wants them.
namespace wire::detail {

/// The library computes in registers of 512 bits where there are any, and leaves their upper parts in use: every
/// instruction of the older kind that follows, which is nearly all of this program, then depends on what was there
/// before, and is a third slower.
inline void leave_wide_registers() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx"))
        asm volatile("vzeroupper" ::
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                           "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
#endif
}

/// CRC-32C's register (iSCSI) moved forward, inverted neither before nor after; at most 2^31 - 1 octets.
inline std::uint32_t library_crc32c(std::uint32_t state, base::Bytes octets) {
    // The library takes a pointer to non-const but only reads.
    auto* const first = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(octets.data()));
    state = crc32_iscsi(first, static_cast<int>(octets.size()), state);
    leave_wide_registers();
    return state;
}

/// Ethernet's CRC-32 of what has the CRC `crc` (0: nothing) and these octets after it.
inline std::uint32_t library_crc32(std::uint32_t crc, base::Bytes octets) {
    crc = crc32_gzip_refl(crc, reinterpret_cast<const unsigned char*>(octets.data()), octets.size());
    leave_wide_registers();
    return crc;
}

}  // namespace wire::detail
