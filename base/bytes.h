#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace base {

/// Bytes as they were on the wire; never owned.
using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

/// Unsigned big-endian loads; the caller has checked that the bytes are there.
constexpr std::uint8_t load_u8(const std::byte* p) { return std::to_integer<std::uint8_t>(*p); }

namespace detail {
template <class T>
constexpr T swapped(T value) {
    if constexpr (sizeof(T) == 8)
        return __builtin_bswap64(value);
    else
        return __builtin_bswap32(value);
}
/// Compilers turn this into one load and one swap, but not the loops.
template <unsigned Octets, class T>
constexpr bool in_one_piece = Octets == sizeof(T) && std::endian::native == std::endian::little;

template <unsigned Octets, class T>
constexpr T load_be(const std::byte* p) {
    if constexpr (in_one_piece<Octets, T>) {
        if (!std::is_constant_evaluated()) {
            T value;
            std::memcpy(&value, p, sizeof value);
            return swapped(value);
        }
    }
    T value = 0;
    for (unsigned i = 0; i < Octets; ++i) value = static_cast<T>(value << 8 | std::to_integer<T>(p[i]));
    return value;
}
template <unsigned Octets, class T>
constexpr void store_be(std::byte* p, T value) {
    if constexpr (in_one_piece<Octets, T>) {
        if (!std::is_constant_evaluated()) {
            const T swap = swapped(value);
            std::memcpy(p, &swap, sizeof swap);
            return;
        }
    }
    for (unsigned i = Octets; i-- > 0; value = static_cast<T>(value >> 8)) p[i] = static_cast<std::byte>(value & 0xff);
}
}  // namespace detail

constexpr std::uint16_t load_be16(const std::byte* p) {
    return static_cast<std::uint16_t>(detail::load_be<2, std::uint32_t>(p));
}
constexpr std::uint32_t load_be24(const std::byte* p) { return detail::load_be<3, std::uint32_t>(p); }
constexpr std::uint32_t load_be32(const std::byte* p) { return detail::load_be<4, std::uint32_t>(p); }
constexpr std::uint64_t load_be64(const std::byte* p) { return detail::load_be<8, std::uint64_t>(p); }

constexpr void store_be16(std::byte* p, std::uint16_t value) { detail::store_be<2, std::uint32_t>(p, value); }
constexpr void store_be24(std::byte* p, std::uint32_t value) { detail::store_be<3>(p, value); }
constexpr void store_be32(std::byte* p, std::uint32_t value) { detail::store_be<4>(p, value); }
constexpr void store_be64(std::byte* p, std::uint64_t value) { detail::store_be<8>(p, value); }

}  // namespace base
