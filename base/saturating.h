#pragma once
#include <cstdint>

/// Arithmetic that stops at the ends of 64 bits instead of wrapping round.
namespace base::saturating {

constexpr std::uint64_t add(std::uint64_t a, std::uint64_t b) { return a > ~b ? ~std::uint64_t{0} : a + b; }
constexpr std::uint64_t subtract(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }
constexpr std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
    std::uint64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? ~std::uint64_t{0} : product;
}

}  // namespace base::saturating
