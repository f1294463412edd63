#pragma once
#include <array>
#include <cstdint>

#include "base/bytes.h"

/// Ethernet's CRC-32 of a packet where it lies, some bits at its beginning taken as ones: without a copy, which would
/// cost more than the CRC of a short packet does. By carry-less multiplication of 128-bit registers.
namespace wire::detail {

/// The bits that count as ones: of the first octets, and room behind them to be read in registers of 16.
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

/// Fewer octets are not for it.
inline constexpr std::size_t masked_crc32_least = 16;

/// Whether this machine can.
bool masked_crc32_there();
/// The register moved forward, inverted neither before nor after.
std::uint32_t masked_crc32(std::uint32_t state, base::Bytes octets, const FrontMask& ones);

}  // namespace wire::detail
