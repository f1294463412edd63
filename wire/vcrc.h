#pragma once
#include <cstdint>

#include "base/bytes.h"

namespace wire {

/// Octets of the variant CRC that ends every packet on an InfiniBand link.
inline constexpr unsigned vcrc_octets = 2;

/// The variant CRC over `packet`, which is everything from the LRH's first octet to the VCRC. The result is the number
/// that the packet contains, in big-endian order. IBTA vol. 1, 7.8.2: polynomial 0x100B, the least significant bit of
/// an octet first.
std::uint16_t vcrc(base::Bytes packet);

}  // namespace wire
