#pragma once
#include <cstddef>
#include <cstdint>

/// Constants of CRCs by carry-less multiplication, computed where they are used. After Gopal et al., "Fast CRC
/// Computation for Generic Polynomials Using PCLMULQDQ Instruction" (Intel, 2009).
namespace wire::detail {

/// x^exponent modulo a polynomial of degree 32, whose x^32 is among its bits; the remainder's in the order of the wire.
template <std::uint64_t Polynomial>
constexpr std::uint64_t power(std::size_t exponent) {
    std::uint64_t remainder = 1;
    for (std::size_t i = 0; i < exponent; ++i) {
        remainder <<= 1;
        if ((remainder >> 32) != 0) remainder ^= Polynomial;
    }
    std::uint64_t reflected = 0;
    for (unsigned bit = 0; bit < 32; ++bit) reflected |= (remainder >> bit & 1) << (31 - bit);
    return reflected;
}
/// Constants that move the two halves of a 128-bit register forward by this number of bits. The low half lies 64 bits
/// further from the end than the high half. The shift by one corrects the product of reflected operands, which stands
/// one place too far right.
template <std::uint64_t Polynomial>
constexpr long long move_low(std::size_t bits) {
    return static_cast<long long>(power<Polynomial>(bits + 32) << 1);
}
template <std::uint64_t Polynomial>
constexpr long long move_high(std::size_t bits) {
    return static_cast<long long>(power<Polynomial>(bits - 32) << 1);
}

}  // namespace wire::detail
