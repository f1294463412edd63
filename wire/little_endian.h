#pragma once
#include <cstdint>

#include "base/bytes.h"

namespace wire {

// Unsigned little-endian loads; the caller has checked that the octets are there.

constexpr std::uint16_t load_le16(const std::byte* p) {
    return static_cast<std::uint16_t>(base::load_u8(p) | base::load_u8(p + 1) << 8);
}
constexpr std::uint32_t load_le32(const std::byte* p) {
    return load_le16(p) | static_cast<std::uint32_t>(load_le16(p + 2)) << 16;
}
constexpr std::uint64_t load_le64(const std::byte* p) {
    return load_le32(p) | static_cast<std::uint64_t>(load_le32(p + 4)) << 32;
}
/// Of 1 to 8 octets.
constexpr std::uint64_t load_le(const std::byte* p, unsigned octets) {
    std::uint64_t value = 0;
    for (unsigned i = octets; i-- > 0;) value = value << 8 | base::load_u8(p + i);
    return value;
}

}  // namespace wire
