#pragma once
#include <cstdint>

#include "base/bytes.h"

namespace wire {

/// The Internet checksum of the octets, as it is stored in a header whose checksum field is zero; 0 over a header that
/// holds its own. RFC 1071.
constexpr std::uint16_t internet_checksum(base::Bytes octets) {
    std::uint64_t sum = 0;
    std::size_t i = 0;
    for (; i + 1 < octets.size(); i += 2) sum += base::load_be16(octets.data() + i);
    if (i < octets.size()) sum += static_cast<std::uint64_t>(base::load_u8(octets.data() + i)) << 8;
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
}

}  // namespace wire
