#pragma once
#include <array>
#include <cstdint>

#include "base/bytes.h"

/// CRC-32C, the Castagnoli polynomial 0x1EDC6F41 with iSCSI's conventions, as MPA uses it. RFC 5044 section 4.4,
/// RFC 3720 section 12.1.
namespace wire {

/// A CRC over pieces: what lies in several buffers need not be copied together.
class Crc32c {
public:
    void update(base::Bytes bytes);
    /// The check value of everything so far: 0xE3069283 for the ASCII digits 1 to 9.
    std::uint32_t value() const { return ~state_; }

private:
    std::uint32_t state_ = 0xffffffff;
};

std::uint32_t crc32c(base::Bytes bytes);

/// The check value's place on the wire: least significant octet first, unlike every other number of MPA.
constexpr std::array<std::byte, 4> crc32c_octets(std::uint32_t crc) {
    return {static_cast<std::byte>(crc & 0xff), static_cast<std::byte>(crc >> 8 & 0xff),
            static_cast<std::byte>(crc >> 16 & 0xff), static_cast<std::byte>(crc >> 24)};
}
/// The four octets of a received CRC as the check value.
constexpr std::uint32_t load_crc32c(const std::byte* p) {
    const std::uint32_t big = base::load_be32(p);
    return big >> 24 | (big >> 8 & 0xff00) | (big << 8 & 0xff0000) | big << 24;
}

}  // namespace wire
