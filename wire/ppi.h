#pragma once
#include <span>

#include "wire/layout.h"

namespace wire {

/// Per-Packet Information, version 0. Every field is little-endian, hence the functions by hand.
struct Ppi {
    std::uint8_t version{};
    std::uint8_t flags{};
    std::uint16_t length{};     ///< of the header and its fields
    std::uint32_t link_type{};  ///< of what follows
    bool operator==(const Ppi&) const = default;

    static constexpr std::size_t size = 8;
};

constexpr std::uint16_t load_le16(const std::byte* p) {
    return static_cast<std::uint16_t>(base::load_u8(p) | base::load_u8(p + 1) << 8);
}
constexpr std::uint32_t load_le32(const std::byte* p) {
    return load_le16(p) | static_cast<std::uint32_t>(load_le16(p + 2)) << 16;
}
constexpr std::uint64_t load_le64(const std::byte* p) {
    return load_le32(p) | static_cast<std::uint64_t>(load_le32(p + 4)) << 32;
}

/// Reads a header of which `Ppi::size` octets are there.
constexpr Ppi parse_ppi(const std::byte* p) { return {base::load_u8(p), base::load_u8(p + 1), load_le16(p + 2), load_le32(p + 4)}; }

constexpr void emit_ppi(std::span<std::byte, Ppi::size> out, const Ppi& header) {
    out[0] = std::byte{header.version};
    out[1] = std::byte{header.flags};
    for (unsigned i = 0; i < 2; ++i) out[2 + i] = static_cast<std::byte>(header.length >> 8 * i & 0xff);
    for (unsigned i = 0; i < 4; ++i) out[4 + i] = static_cast<std::byte>(header.link_type >> 8 * i & 0xff);
}

}  // namespace wire
