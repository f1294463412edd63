#pragma once
#include <cstddef>
#include <cstdint>

/// CRC-32C of long pieces with both units that can compute it at once: carry-less multiplication of 256-bit registers,
/// and the CRC32 instruction on three more streams at once. About twice as fast as the library on processors that
/// have VPCLMULQDQ but not AVX-512. After Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
/// Instruction" (Intel, 2009).
namespace wire::detail {

/// Shorter pieces are not for it.
inline constexpr std::size_t wide_crc32c_least = 7536;

/// Whether this machine can.
bool wide_crc32c_there();
/// Whether it can, and the library cannot do better: with AVX-512 that multiplies registers of 512 bits, twice as fast.
bool wide_crc32c_is_faster();
/// Brings the register forward, which is inverted neither before nor after, and returns how many octets it took: all
/// but less than wide_crc32c_least.
std::size_t wide_crc32c(std::uint32_t& state, const std::byte* octets, std::size_t size);

}  // namespace wire::detail
