#pragma once
#include <cstddef>
#include <cstdint>

/// CRC-32C of long pieces by two units of the processor at the same time: carry-less multiplication of 256-bit
/// registers, and the CRC32 instruction on three more streams. About twice as fast as the library on processors that
/// have VPCLMULQDQ but not AVX-512. After Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
/// Instruction" (Intel, 2009).
namespace wire::detail {

/// The smallest size that wide_crc32c() accepts, in octets.
inline constexpr std::size_t wide_crc32c_least = 7536;

/// Whether this processor has the instructions for wide_crc32c().
bool wide_crc32c_there();
/// Whether the processor can use wide_crc32c() and the library is slower. With AVX-512 the library multiplies registers
/// of 512 bits, which is twice as fast.
bool wide_crc32c_is_faster();
/// Updates the CRC register, which is inverted neither before nor after. Returns how many octets were read; the rest is
/// shorter than wide_crc32c_least.
std::size_t wide_crc32c(std::uint32_t& state, const std::byte* octets, std::size_t size);

}  // namespace wire::detail
