#pragma once
#include <cstdint>

#include "base/bytes.h"

namespace wire {

/// The Internet checksum of the octets, RFC 1071. Over a header with a checksum field of zero: the value to store
/// there. Over a header with a correct checksum: 0.
constexpr std::uint16_t internet_checksum(base::Bytes octets) {
    std::uint64_t sum = 0;
    std::size_t i = 0;
    for (; i + 1 < octets.size(); i += 2) sum += base::load_be16(octets.data() + i);
    if (i < octets.size()) sum += static_cast<std::uint64_t>(base::load_u8(octets.data() + i)) << 8;
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
}

}  // namespace wire
