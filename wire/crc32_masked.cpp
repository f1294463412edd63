#include "wire/crc32_masked.h"

#if defined(__x86_64__)
#include <cassert>
#include <immintrin.h>

#include "wire/crc_power.h"

namespace wire::detail {
namespace {

constexpr std::uint64_t ethernet_polynomial = 0x104C11DB7;
/// The polynomial itself and x^64 divided by it, reflected: Barrett's reduction.
constexpr long long reflected_polynomial = 0x1DB710641;
constexpr long long reflected_quotient = 0x1F7011641;

#define WIRE_FOLD __attribute__((target("pclmul,sse4.1")))
#define WIRE_FOLD_INLINE WIRE_FOLD __attribute__((always_inline)) inline

WIRE_FOLD_INLINE __m128i load(const void* at) { return _mm_loadu_si128(static_cast<const __m128i*>(at)); }
WIRE_FOLD_INLINE __m128i moved(__m128i value, __m128i by) {
    return _mm_xor_si128(_mm_clmulepi64_si128(value, by, 0x00), _mm_clmulepi64_si128(value, by, 0x11));
}
WIRE_FOLD_INLINE __m128i masked(const std::byte* first, std::size_t at, const FrontMask& ones) {
    return _mm_or_si128(load(first + at), load(ones.at(at)));
}
/// The remainder of 16 octets that stand for all before them.
WIRE_FOLD_INLINE std::uint32_t remainder(__m128i value, __m128i by_128) {
    const __m128i low_words = _mm_set_epi32(0, -1, 0, -1);
    value = _mm_xor_si128(_mm_clmulepi64_si128(value, by_128, 0x10), _mm_srli_si128(value, 8));
    const __m128i by_64 = _mm_set_epi64x(0, static_cast<long long>(power<ethernet_polynomial>(64) << 1));
    value = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(value, low_words), by_64, 0x00), _mm_srli_si128(value, 4));
    const __m128i barrett = _mm_set_epi64x(reflected_quotient, reflected_polynomial);
    __m128i whole = _mm_clmulepi64_si128(_mm_and_si128(value, low_words), barrett, 0x10);
    whole = _mm_clmulepi64_si128(_mm_and_si128(whole, low_words), barrett, 0x00);
    return static_cast<std::uint32_t>(_mm_extract_epi32(_mm_xor_si128(value, whole), 1));
}

/// Read from its place 16 - n, it moves a register's octets up by n (zeros come in), from 16 + n, down by n.
alignas(16) constexpr std::array<std::int8_t, 48> shifts = [] {
    std::array<std::int8_t, 48> found{};
    for (std::size_t i = 0; i < found.size(); ++i)
        found[i] = i >= 16 && i < 32 ? static_cast<std::int8_t>(i - 16) : std::int8_t{-1};
    return found;
}();

}  // namespace

bool masked_crc32_there() { return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1"); }

WIRE_FOLD std::uint32_t masked_crc32(std::uint32_t state, base::Bytes octets, const FrontMask& ones) {
    constexpr std::size_t block = 16;
    static_assert(block == masked_crc32_least);
    assert(octets.size() >= block);
    static constexpr long long block_low = move_low<ethernet_polynomial>(8 * block);
    static constexpr long long block_high = move_high<ethernet_polynomial>(8 * block);
    const __m128i by_block = _mm_set_epi64x(block_high, block_low);
    const std::byte* const first = octets.data();
    const std::size_t size = octets.size();

    __m128i sum = _mm_xor_si128(masked(first, 0, ones), _mm_cvtsi32_si128(static_cast<int>(state)));
    std::size_t at = block;
    if (size >= 2 * FrontMask::reach) {
        // Four registers, so that no product is waited for.
        constexpr std::size_t stride = 4 * block;
        static_assert(stride == FrontMask::reach);
        static constexpr long long stride_low = move_low<ethernet_polynomial>(8 * stride);
        static constexpr long long stride_high = move_high<ethernet_polynomial>(8 * stride);
        const __m128i by_stride = _mm_set_epi64x(stride_high, stride_low);
        __m128i second = masked(first, block, ones);
        __m128i third = masked(first, 2 * block, ones);
        __m128i fourth = masked(first, 3 * block, ones);
        for (at = stride; at + stride <= size; at += stride) {
            sum = _mm_xor_si128(moved(sum, by_stride), load(first + at));
            second = _mm_xor_si128(moved(second, by_stride), load(first + at + block));
            third = _mm_xor_si128(moved(third, by_stride), load(first + at + 2 * block));
            fourth = _mm_xor_si128(moved(fourth, by_stride), load(first + at + 3 * block));
        }
        sum = _mm_xor_si128(moved(sum, by_block), second);
        sum = _mm_xor_si128(moved(sum, by_block), third);
        sum = _mm_xor_si128(moved(sum, by_block), fourth);
    }
    for (; at < FrontMask::reach && at + block <= size; at += block)
        sum = _mm_xor_si128(moved(sum, by_block), masked(first, at, ones));
    for (; at + block <= size; at += block) sum = _mm_xor_si128(moved(sum, by_block), load(first + at));
    if (at < size) {
        // Of the 16 octets in hand and the few behind them, the last 16 make a register, and those before them another.
        const std::size_t rest = size - at;
        const __m128i front = _mm_shuffle_epi8(sum, load(shifts.data() + rest));
        const __m128i down = load(shifts.data() + 16 + rest);
        const __m128i back = _mm_blendv_epi8(_mm_shuffle_epi8(sum, down), masked(first, size - block, ones), down);
        sum = _mm_xor_si128(moved(front, by_block), back);
    }
    return remainder(sum, by_block);
}

}  // namespace wire::detail
#elif !defined(__aarch64__)  // crc32_masked_arm64.cpp
namespace wire::detail {
bool masked_crc32_there() { return false; }
std::uint32_t masked_crc32(std::uint32_t state, base::Bytes, const FrontMask&) { return state; }
}  // namespace wire::detail
#endif
