#include "wire/crc32c_wide.h"

#if defined(__x86_64__)
#include <cstring>
#include <immintrin.h>

#include "wire/crc_power.h"

namespace wire::detail {
namespace {

constexpr std::uint64_t castagnoli = 0x11EDC6F41;  // Castagnoli

constexpr std::size_t stride = 256;        // eight registers of 32 octets
constexpr std::size_t words = 11;          // of eight octets, which each of three streams takes meanwhile

#define WIRE_WIDE __attribute__((target("avx2,vpclmulqdq,pclmul,sse4.2")))
#define WIRE_WIDE_INLINE WIRE_WIDE __attribute__((always_inline)) inline

WIRE_WIDE_INLINE __m128i moved_crc(__m128i value, __m128i by) {
    return _mm_xor_si128(_mm_clmulepi64_si128(value, by, 0x00), _mm_clmulepi64_si128(value, by, 0x11));
}
/// The register moved forward by a constant number of bits, above 33.
WIRE_WIDE_INLINE std::uint32_t shifted(std::uint64_t crc, std::uint64_t by) {
    const __m128i product =
        _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(crc)), _mm_cvtsi64_si128(static_cast<long long>(by)), 0x00);
    return static_cast<std::uint32_t>(_mm_crc32_u64(0, static_cast<std::uint64_t>(_mm_cvtsi128_si64(product))));
}
WIRE_WIDE_INLINE std::uint64_t word(const std::byte* at) {
    std::uint64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
}

/// A block of fixed size: `Turns` + 1 strides for the wide registers, and after them three streams of `Turns` times
/// `words` for the CRC32 instruction, which keeps a latency of three.
template <std::size_t Turns>
struct Block {
    static constexpr std::size_t wide = (Turns + 1) * stride;
    static constexpr std::size_t stream = Turns * words * 8;
    static constexpr std::size_t size = wide + 3 * stream;

    WIRE_WIDE static std::uint32_t pass(std::uint32_t state, const std::byte* octets) {
        static constexpr std::uint64_t by_one = power<castagnoli>(8 * stream - 33);
        static constexpr std::uint64_t by_two = power<castagnoli>(2 * 8 * stream - 33);
        static constexpr std::uint64_t by_three = power<castagnoli>(3 * 8 * stream - 33);
        const auto* at = reinterpret_cast<const __m256i*>(octets);
        __m256i sum[8];
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) sum[i] = _mm256_loadu_si256(at + i);
        sum[0] = _mm256_xor_si256(sum[0], _mm256_zextsi128_si256(_mm_cvtsi32_si128(static_cast<int>(state))));
        static constexpr long long stride_low = move_low<castagnoli>(8 * stride);
        static constexpr long long stride_high = move_high<castagnoli>(8 * stride);
        const __m256i by_stride = _mm256_set_epi64x(stride_high, stride_low, stride_high, stride_low);
        const std::byte* narrow = octets + wide;
        std::uint64_t first = 0;
        std::uint64_t second = 0;
        std::uint64_t third = 0;
        for (std::size_t turn = 0; turn < Turns; ++turn) {
            at += 8;
#pragma GCC unroll 8
            for (int i = 0; i < 8; ++i)
                sum[i] = _mm256_xor_si256(_mm256_xor_si256(_mm256_clmulepi64_epi128(sum[i], by_stride, 0x00),
                                                           _mm256_clmulepi64_epi128(sum[i], by_stride, 0x11)),
                                          _mm256_loadu_si256(at + i));
#pragma GCC unroll 11
            for (std::size_t i = 0; i < words; ++i) {
                first = _mm_crc32_u64(first, word(narrow + 8 * i));
                second = _mm_crc32_u64(second, word(narrow + stream + 8 * i));
                third = _mm_crc32_u64(third, word(narrow + 2 * stream + 8 * i));
            }
            narrow += 8 * words;
        }
        static constexpr long long lane_low = move_low<castagnoli>(128);
        static constexpr long long lane_high = move_high<castagnoli>(128);
        const __m128i by_128 = _mm_set_epi64x(lane_high, lane_low);
        __m128i last = _mm256_castsi256_si128(sum[0]);
        last = _mm_xor_si128(moved_crc(last, by_128), _mm256_extracti128_si256(sum[0], 1));
#pragma GCC unroll 8
        for (int i = 1; i < 8; ++i) {
            last = _mm_xor_si128(moved_crc(last, by_128), _mm256_castsi256_si128(sum[i]));
            last = _mm_xor_si128(moved_crc(last, by_128), _mm256_extracti128_si256(sum[i], 1));
        }
        // Sixteen octets with the same remainder as all before them.
        std::uint64_t front = _mm_crc32_u64(0, static_cast<std::uint64_t>(_mm_cvtsi128_si64(last)));
        front = _mm_crc32_u64(front, static_cast<std::uint64_t>(_mm_extract_epi64(last, 1)));
        return shifted(front, by_three) ^ shifted(first, by_two) ^ shifted(second, by_one) ^
               static_cast<std::uint32_t>(third);
    }
};
// Two of the large ones fit an FPDU of 64 KiB, one of the small ones 8 KiB.
using Large = Block<61>;
using Small = Block<14>;
static_assert(2 * Large::size <= 64768 && Small::size <= 8192 && Small::size == wide_crc32c_least);

}  // namespace

bool wide_crc32c_there() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq"); }

// What ISA-L asks of a processor before it does so.
bool wide_crc32c_is_faster() {
    const bool library_is_wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                                 __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vbmi2") &&
                                 __builtin_cpu_supports("gfni") && __builtin_cpu_supports("avx512vnni") &&
                                 __builtin_cpu_supports("avx512bitalg") && __builtin_cpu_supports("avx512vpopcntdq");
    return wide_crc32c_there() && !library_is_wide;
}

std::size_t wide_crc32c(std::uint32_t& state, const std::byte* octets, std::size_t size) {
    const std::size_t all = size;
    while (size >= Large::size) {
        state = Large::pass(state, octets);
        octets += Large::size;
        size -= Large::size;
    }
    while (size >= Small::size) {
        state = Small::pass(state, octets);
        octets += Small::size;
        size -= Small::size;
    }
    return all - size;
}

}  // namespace wire::detail
#else
namespace wire::detail {
bool wide_crc32c_there() { return false; }
bool wide_crc32c_is_faster() { return false; }
std::size_t wide_crc32c(std::uint32_t&, const std::byte*, std::size_t) { return 0; }
}  // namespace wire::detail
#endif
