#pragma once
#include <array>
#include <cstdint>

#include "base/bytes.h"

/// Ethernet's CRC-32 of a packet with some bits at its beginning counted as ones. The packet is not copied: a copy
/// would cost more than the CRC of a short packet. Uses carry-less multiplication of 128-bit registers.
namespace wire::detail {

/// The bits that count as ones, in the first octets of a packet. The array is longer, so that registers of 16 octets
/// can be loaded at every place.
class FrontMask {
public:
    static constexpr std::size_t reach = 64;

    constexpr FrontMask& set(std::size_t octet, std::uint8_t bits = 0xff) {
        octets_[octet] = bits;
        return *this;
    }
    const std::uint8_t* at(std::size_t octet) const { return octets_.data() + (octet < reach ? octet : reach); }

private:
    alignas(16) std::array<std::uint8_t, reach + 16> octets_ = {};
};

/// The smallest size that masked_crc32() accepts, in octets.
inline constexpr std::size_t masked_crc32_least = 16;

/// Whether this processor has the instructions for masked_crc32().
bool masked_crc32_there();
/// The CRC register after these octets. It is inverted neither before nor after.
std::uint32_t masked_crc32(std::uint32_t state, base::Bytes octets, const FrontMask& ones);

}  // namespace wire::detail
