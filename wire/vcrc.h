#pragma once
#include <cstdint>

#include "base/bytes.h"

namespace wire {

/// Octets of the variant CRC that ends every packet on an InfiniBand link.
inline constexpr unsigned vcrc_octets = 2;

/// The variant CRC over `packet`, from the LRH's first octet to the last before the VCRC; as it stands in the packet,
/// read as a big-endian number. IBTA vol. 1, 7.8.2: polynomial 0x100B, the least significant bit of an octet first.
std::uint16_t vcrc(base::Bytes packet);

}  // namespace wire
