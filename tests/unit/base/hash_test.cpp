#include "base/hash.h"

#include <array>
#include <bit>
#include <gtest/gtest.h>
#include <string_view>

namespace base {
namespace {

// Worked out with Python's integers.
TEST(Hash, MixIsTheSameEverywhere) {
    static_assert(mix(0, 0) == 0);
    EXPECT_EQ(mix(0, 1), 0x9e3779bd8ef1b1deu);
    EXPECT_EQ(mix(0x0123456789abcdef, 0xfedcba9876543210), 0x61c886458ef1b1dfu);
}

TEST(Hash, SpreadIsTheSameEverywhere) {
    static_assert(spread(0) == 0);
    EXPECT_EQ(spread(1), 0x17fb89ee8a313dc4u);
    EXPECT_EQ(spread(0xfedcba9876543210), 0x9b19a5334686c47au);
}

// The test vectors of draft-eastlake-fnv.
TEST(Hash, FnvIsFnv1a) {
    const auto of = [](std::string_view text) { return fnv(fnv_begin, std::as_bytes(std::span(text))); };
    EXPECT_EQ(of(""), 0xcbf29ce484222325u);
    EXPECT_EQ(of("a"), 0xaf63dc4c8601ec8cu);
    EXPECT_EQ(of("foobar"), 0x85944171f73967e8u);
}

TEST(Hash, FnvGoesOnWhereItStopped) {
    const std::string_view text = "foobar";
    const std::span<const std::byte> octets = std::as_bytes(std::span(text));
    EXPECT_EQ(fnv(fnv(fnv_begin, octets.first(3)), octets.subspan(3)), fnv(fnv_begin, octets));
}

/// The largest share that one of 256 places gets of 2^16 words which follow one another, in 1/256: 1 is even.
template <class Hash>
double fullest(std::uint64_t step, unsigned shift, Hash hash) {
    std::array<unsigned, 256> places{};
    for (std::uint64_t i = 0; i < 65536; ++i) ++places[hash(i * step) >> shift & 255];
    unsigned most = 0;
    for (const unsigned place : places) most = std::max(most, place);
    return most / 256.0;
}

// Addresses, ports and QPNs follow one another, in any of their octets.
TEST(Hash, WordsThatFollowOneAnotherAreSpread) {
    for (const std::uint64_t step :
         {std::uint64_t{1}, std::uint64_t{1} << 8, std::uint64_t{1} << 24, std::uint64_t{1} << 32}) {
        const auto mixed = [](std::uint64_t word) { return mix(mix(0, word), 0); };
        EXPECT_LT(fullest(step, 0, mixed), 1.5) << step;
        EXPECT_LT(fullest(step, 20, mixed), 1.5) << step;
        EXPECT_LT(fullest(step, 56, spread), 1.5) << step;
    }
}

}  // namespace
}  // namespace base
