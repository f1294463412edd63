#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

/// How the server tells its clients where they may write and read: 20 bytes of private data, most significant first.
struct Region {
    std::uint32_t stag = 0;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
};

inline std::array<std::byte, 20> encode(const Region& region) {
    std::array<std::byte, 20> out{};
    for (std::size_t i = 0; i < 4; ++i) out[i] = static_cast<std::byte>(region.stag >> (24 - 8 * i));
    for (std::size_t i = 0; i < 8; ++i) out[4 + i] = static_cast<std::byte>(region.offset >> (56 - 8 * i));
    for (std::size_t i = 0; i < 8; ++i) out[12 + i] = static_cast<std::byte>(region.length >> (56 - 8 * i));
    return out;
}

inline std::optional<Region> decode(std::span<const std::byte> bytes) {
    if (bytes.size() < 20) return std::nullopt;
    const auto number = [&](std::size_t at, std::size_t octets) {
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < octets; ++i) value = value << 8 | std::to_integer<std::uint64_t>(bytes[at + i]);
        return value;
    };
    return Region{static_cast<std::uint32_t>(number(0, 4)), number(4, 8), number(12, 8)};
}
