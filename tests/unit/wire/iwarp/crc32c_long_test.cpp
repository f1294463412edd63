/// CRC-32C of pieces long enough for every way it is computed, against a calculation bit by bit.
#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

#include "wire/crc32c.h"
#include "wire/crc32c_wide.h"

namespace {

/// RFC 3720 section 12.1: least significant bit first, the polynomial's bits reversed.
std::uint32_t bit_wise(std::uint32_t state, base::Bytes octets) {
    for (const std::byte octet : octets) {
        state ^= std::to_integer<std::uint32_t>(octet);
        for (int bit = 0; bit < 8; ++bit) state = state >> 1 ^ ((state & 1) != 0 ? 0x82F63B78U : 0);
    }
    return state;
}

std::vector<std::byte> noise(std::size_t size) {
    std::vector<std::byte> octets(size);
    std::uint64_t state = 88172645463325252U;
    for (std::byte& octet : octets) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        octet = static_cast<std::byte>(state >> 24);
    }
    return octets;
}

TEST(Crc32cLong, EveryLengthAroundTheBlocks) {
    const auto octets = noise(140'000);
    const base::Bytes all{octets};
    for (const std::size_t edge : {4096U, 7536U, 2 * 7536U, 31976U, 31976U + 7536U, 2 * 31976U, 65536U, 4 * 31976U})
        for (std::size_t size = edge - 3; size <= edge + 9; ++size)
            for (const std::size_t offset : {0U, 1U, 13U}) {
                const base::Bytes piece = all.subspan(offset, size);
                ASSERT_EQ(wire::crc32c(piece), ~bit_wise(0xffffffff, piece)) << size << " from " << offset;
            }
}

/// The library has ways of its own for short pieces and for their last bytes.
TEST(Crc32cLong, EveryShortLength) {
    const auto octets = noise(1300);
    const base::Bytes all{octets};
    for (std::size_t size = 0; size < 1200; ++size)
        for (const std::size_t offset : {0U, 1U, 8U, 15U}) {
            const base::Bytes piece = all.subspan(offset, size);
            ASSERT_EQ(wire::crc32c(piece), ~bit_wise(0xffffffff, piece)) << size << " from " << offset;
        }
}

TEST(Crc32cLong, PiecesOfAnyLengthMakeTheWhole) {
    const auto octets = noise(200'000);
    const base::Bytes all{octets};
    const std::uint32_t whole = ~bit_wise(0xffffffff, all);
    for (const std::size_t piece : {1000U, 7535U, 7536U, 8192U, 31976U, 40'001U, 199'999U}) {
        wire::Crc32c crc;
        for (std::size_t at = 0; at < all.size(); at += piece)
            crc.update(all.subspan(at, std::min(piece, all.size() - at)));
        EXPECT_EQ(crc.value(), whole) << piece;
    }
}

TEST(Crc32cLong, TheRegisterGoesIn) {
    if (!wire::detail::wide_crc32c_there()) GTEST_SKIP() << "this processor has no VPCLMULQDQ: the library does it all";
    const auto octets = noise(70'000);
    for (const std::uint32_t begin : {0U, 1U, 0x80000000U, 0xdeadbeefU}) {
        std::uint32_t state = begin;
        const std::size_t taken = wire::detail::wide_crc32c(state, octets.data(), octets.size());
        EXPECT_LT(octets.size() - taken, wire::detail::wide_crc32c_least);
        EXPECT_EQ(state, bit_wise(begin, base::Bytes{octets}.first(taken)));
    }
    std::uint32_t state = 5;
    EXPECT_EQ(wire::detail::wide_crc32c(state, octets.data(), wire::detail::wide_crc32c_least - 1), 0U);
    EXPECT_EQ(state, 5U);
}

}  // namespace
