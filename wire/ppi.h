#pragma once
#include <span>

#include "wire/layout.h"
#include "wire/little_endian.h"

namespace wire {

/// Per-Packet Information, version 0. Every field is little-endian, so there is no layout (layouts are big-endian) but
/// two functions.
struct Ppi {
    std::uint8_t version{};
    std::uint8_t flags{};
    std::uint16_t length{};     ///< of the header and its fields
    std::uint32_t link_type{};  ///< of what follows
    bool operator==(const Ppi&) const = default;

    static constexpr std::size_t size = 8;
};

/// Reads a header. `p` must have `Ppi::size` octets.
constexpr Ppi parse_ppi(const std::byte* p) { return {base::load_u8(p), base::load_u8(p + 1), load_le16(p + 2), load_le32(p + 4)}; }

constexpr void emit_ppi(std::span<std::byte, Ppi::size> out, const Ppi& header) {
    out[0] = std::byte{header.version};
    out[1] = std::byte{header.flags};
    for (unsigned i = 0; i < 2; ++i) out[2 + i] = static_cast<std::byte>(header.length >> 8 * i & 0xff);
    for (unsigned i = 0; i < 4; ++i) out[4 + i] = static_cast<std::byte>(header.link_type >> 8 * i & 0xff);
}

}  // namespace wire
