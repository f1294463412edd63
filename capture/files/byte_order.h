#pragma once
#include <bit>
#include <cstdint>
#include <cstring>

namespace capture::inline files {

/// Loads in the byte order of the machine that wrote the file; `Swapped` if that differs from this machine's.
template <bool Swapped>
struct ByteOrder {
    static std::uint16_t u16(const std::byte* p) {
        std::uint16_t value;
        std::memcpy(&value, p, sizeof value);
        if constexpr (Swapped) value = __builtin_bswap16(value);
        return value;
    }
    static std::uint32_t u32(const std::byte* p) {
        std::uint32_t value;
        std::memcpy(&value, p, sizeof value);
        if constexpr (Swapped) value = __builtin_bswap32(value);
        return value;
    }
    static std::uint64_t u64(const std::byte* p) {
        std::uint64_t value;
        std::memcpy(&value, p, sizeof value);
        if constexpr (Swapped) value = __builtin_bswap64(value);
        return value;
    }
};

}  // namespace capture::files
