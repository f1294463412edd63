#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

/// Hashes that depend only on their input: the same in every run and on every machine. They spread values from the
/// network over tables; they do not resist an attacker.
namespace base {

/// 2^64 divided by the golden ratio.
inline constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;

/// Takes one more word into a hash. The low bits of the result are as good as the high ones.
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * golden;
    return hash ^ hash >> 29;
}

/// Spreads one word over all bits. Equal differences between words do not stay equal, so that the hashes of several
/// words can be added up. The high bits are the better ones.
constexpr std::uint64_t spread(std::uint64_t word) {
    word *= golden;
    return (word ^ word >> 32) * 0xd6e8feb86659fd93;
}

/// FNV-1a, byte by byte.
inline constexpr std::uint64_t fnv_begin = 0xcbf29ce484222325;
constexpr std::uint64_t fnv(std::uint64_t hash, std::span<const std::byte> octets) {
    for (const std::byte octet : octets) hash = (hash ^ std::to_integer<std::uint64_t>(octet)) * 0x100000001b3;
    return hash;
}

}  // namespace base
