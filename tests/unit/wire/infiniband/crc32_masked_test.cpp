/// The CRC-32 of a packet where some bits count as ones, by the processor's own instructions, against a table that is
/// calculated bit by bit.
#include "wire/crc32_masked.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

namespace {

constexpr std::array<std::uint32_t, 256> remainders = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        table[byte] = byte;
        for (int bit = 0; bit < 8; ++bit) table[byte] = table[byte] >> 1 ^ ((table[byte] & 1) != 0 ? 0xedb88320 : 0);
    }
    return table;
}();

std::uint32_t by_table(std::uint32_t state, base::Bytes bytes) {
    for (const std::byte byte : bytes)
        state = state >> 8 ^ remainders[(state ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
    return state;
}

std::vector<std::byte> noise(std::size_t size) {
    std::vector<std::byte> bytes(size);
    std::uint64_t state = 88172645463325252U;
    for (std::byte& byte : bytes) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        byte = static_cast<std::byte>(state >> 24);
    }
    return bytes;
}

struct MaskedCrc32 : testing::Test {
    void SetUp() override {
        if (!wire::detail::masked_crc32_there()) GTEST_SKIP() << "this processor lacks the instructions";
    }
};

TEST_F(MaskedCrc32, EveryLengthFromEveryPlace) {
    const auto bytes = noise(400);
    const wire::detail::FrontMask none;
    for (std::size_t offset = 0; offset < 16; ++offset)
        for (std::size_t size = wire::detail::masked_crc32_least; size + offset <= bytes.size(); ++size) {
            // The copy ends where its memory does, so that a sanitizer sees a read after it.
            const std::vector<std::byte> exact(bytes.begin() + static_cast<std::ptrdiff_t>(offset),
                                               bytes.begin() + static_cast<std::ptrdiff_t>(offset + size));
            const base::Bytes place = base::Bytes{bytes}.subspan(offset, size);
            const std::uint32_t expected = by_table(0xffffffff, place);
            ASSERT_EQ(wire::detail::masked_crc32(0xffffffff, exact, none), expected) << size;
            ASSERT_EQ(wire::detail::masked_crc32(0xffffffff, place, none), expected) << size << " from " << offset;
        }
}

TEST_F(MaskedCrc32, EveryBitOfTheMask) {
    const auto bytes = noise(150);
    for (const std::size_t size : {16U, 23U, 64U, 79U, 127U, 128U, 150U})
        for (std::size_t bit = 0; bit < 8 * std::min(size, wire::detail::FrontMask::reach); ++bit) {
            const auto one = static_cast<std::uint8_t>(1U << bit % 8);
            wire::detail::FrontMask ones;
            ones.set(bit / 8, one);
            std::vector<std::byte> changed(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
            const std::uint32_t got = wire::detail::masked_crc32(0, changed, ones);
            changed[bit / 8] |= std::byte{one};
            ASSERT_EQ(got, by_table(0, changed)) << "bit " << bit << " of " << size;
        }
}

TEST_F(MaskedCrc32, EveryStateGoesIn) {
    const auto bytes = noise(300);
    const wire::detail::FrontMask none;
    for (const std::size_t size : {16U, 61U, 130U, 300U})
        for (unsigned bit = 0; bit < 32; ++bit) {
            const base::Bytes piece = base::Bytes{bytes}.first(size);
            EXPECT_EQ(wire::detail::masked_crc32(1U << bit, piece, none), by_table(1U << bit, piece)) << size;
        }
}

}  // namespace
