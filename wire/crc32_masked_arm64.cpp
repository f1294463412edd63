#include "wire/crc32_masked.h"

#if defined(__aarch64__)
#include <arm_acle.h>
#include <arm_neon.h>
#include <bit>
#include <cassert>
#include <cstring>
#include <sys/auxv.h>

#include "wire/crc_power.h"

namespace wire::detail {
namespace {

constexpr std::uint64_t ethernet_polynomial = 0x104C11DB7;

// Only these functions are compiled for processors that have the instructions.
#define WIRE_PMULL __attribute__((target("+crc+crypto")))
#define WIRE_PMULL_INLINE WIRE_PMULL __attribute__((always_inline)) inline

static_assert(std::endian::native == std::endian::little, "the CRC32 instructions take the first byte as the lowest");

template <class Word>
WIRE_PMULL_INLINE Word word(const void* at) {
    Word value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
}
template <class Word>
WIRE_PMULL_INLINE Word masked_word(const std::byte* first, std::size_t at, const FrontMask& ones) {
    return static_cast<Word>(word<Word>(first + at) | word<Word>(ones.at(at)));
}
WIRE_PMULL_INLINE uint64x2_t load(const void* at) {
    return vreinterpretq_u64_u8(vld1q_u8(static_cast<const std::uint8_t*>(at)));
}
WIRE_PMULL_INLINE uint64x2_t masked(const std::byte* first, std::size_t at, const FrontMask& ones) {
    return vorrq_u64(load(first + at), load(ones.at(at)));
}
WIRE_PMULL_INLINE uint64x2_t moved(uint64x2_t value, poly64x2_t by) {
    const poly64x2_t factor = vreinterpretq_p64_u64(value);
    const poly128_t low = vmull_p64(vgetq_lane_p64(factor, 0), vgetq_lane_p64(by, 0));
    const poly128_t high = vmull_high_p64(factor, by);
    return veorq_u64(vreinterpretq_u64_p128(low), vreinterpretq_u64_p128(high));
}
WIRE_PMULL_INLINE poly64x2_t factors(std::uint64_t low, std::uint64_t high) {
    return vreinterpretq_p64_u64(vcombine_u64(vcreate_u64(low), vcreate_u64(high)));
}

}  // namespace

bool masked_crc32_there() {
    constexpr unsigned long needed = HWCAP_CRC32 | HWCAP_PMULL;
    static const bool there = (getauxval(AT_HWCAP) & needed) == needed;
    return there;
}

WIRE_PMULL std::uint32_t masked_crc32(std::uint32_t state, base::Bytes octets, const FrontMask& ones) {
    constexpr std::size_t block = 16;
    assert(octets.size() >= masked_crc32_least);
    const std::byte* const first = octets.data();
    const std::size_t size = octets.size();
    std::size_t at = 0;
    if (size >= 2 * FrontMask::reach) {
        // Four registers: a product takes longer than the next one waits to begin.
        constexpr std::size_t stride = 4 * block;
        static_assert(stride == FrontMask::reach);
        static constexpr auto stride_low = static_cast<std::uint64_t>(move_low<ethernet_polynomial>(8 * stride));
        static constexpr auto stride_high = static_cast<std::uint64_t>(move_high<ethernet_polynomial>(8 * stride));
        static constexpr auto block_low = static_cast<std::uint64_t>(move_low<ethernet_polynomial>(8 * block));
        static constexpr auto block_high = static_cast<std::uint64_t>(move_high<ethernet_polynomial>(8 * block));
        const poly64x2_t by_stride = factors(stride_low, stride_high);
        const poly64x2_t by_block = factors(block_low, block_high);
        uint64x2_t sum = veorq_u64(masked(first, 0, ones), vcombine_u64(vcreate_u64(state), vcreate_u64(0)));
        uint64x2_t second = masked(first, block, ones);
        uint64x2_t third = masked(first, 2 * block, ones);
        uint64x2_t fourth = masked(first, 3 * block, ones);
        for (at = stride; at + stride <= size; at += stride) {
            sum = veorq_u64(moved(sum, by_stride), load(first + at));
            second = veorq_u64(moved(second, by_stride), load(first + at + block));
            third = veorq_u64(moved(third, by_stride), load(first + at + 2 * block));
            fourth = veorq_u64(moved(fourth, by_stride), load(first + at + 3 * block));
        }
        sum = veorq_u64(moved(sum, by_block), second);
        sum = veorq_u64(moved(sum, by_block), third);
        sum = veorq_u64(moved(sum, by_block), fourth);
        // These 16 bytes have the remainder of all bytes before `at`.
        state = __crc32d(__crc32d(0, vgetq_lane_u64(sum, 0)), vgetq_lane_u64(sum, 1));
    }
    for (; at < FrontMask::reach && at + 8 <= size; at += 8)
        state = __crc32d(state, masked_word<std::uint64_t>(first, at, ones));
    for (; at + 8 <= size; at += 8) state = __crc32d(state, word<std::uint64_t>(first + at));
    if (((size - at) & 4) != 0) {
        state = __crc32w(state, masked_word<std::uint32_t>(first, at, ones));
        at += 4;
    }
    if (((size - at) & 2) != 0) {
        state = __crc32h(state, masked_word<std::uint16_t>(first, at, ones));
        at += 2;
    }
    if (((size - at) & 1) != 0) state = __crc32b(state, masked_word<std::uint8_t>(first, at, ones));
    return state;
}

}  // namespace wire::detail
#endif
