#include "iwarp/rdmap/atomics.h"

#include <atomic>
#include <gtest/gtest.h>
#include <random>
#include <thread>

namespace {

using iwarp::rdmap::add_fields;
using iwarp::rdmap::perform_atomic;
using wire::RdmapAtomicRequest;

constexpr std::uint8_t fetch_add = 0;  // RFC 7306 Figure 5
constexpr std::uint8_t compare_swap = 2;

/// The pseudocode of RFC 7306 section 5.1.1, bit by bit.
std::uint64_t added_bit_by_bit(std::uint64_t original, std::uint64_t add, std::uint64_t mask) {
    std::uint64_t result = 0, location = 1;
    unsigned carry = 0;
    for (int bit = 0; bit < 64; ++bit) {
        if (bit != 0) location <<= 1;
        const auto one = static_cast<unsigned>((original & location) >> bit);
        const auto two = static_cast<unsigned>((add & location) >> bit);
        const unsigned sum = carry + one + two;
        carry = (sum & 2) >> 1;
        if ((sum & 1) != 0) result |= location;
        carry = carry != 0 && (mask & location) == 0 ? 1 : 0;
    }
    return result;
}

TEST(Atomics, FieldsAreAddedAsThePseudocodeDoes) {
    std::mt19937_64 random{11};
    for (int i = 0; i < 200000; ++i) {
        const auto original = random(), add = random();
        std::uint64_t mask = random();
        for (int thin = i % 6; thin > 0; --thin) mask &= random();  // few fields as well as many
        ASSERT_EQ(add_fields(original, add, mask), added_bit_by_bit(original, add, mask))
            << std::hex << original << " + " << add << " by " << mask;
    }
}

TEST(Atomics, CarriesEndAtTheTopOfAField) {
    EXPECT_EQ(add_fields(0xffffffffffffffff, 1, 0), 0u);
    EXPECT_EQ(add_fields(0xff, 1, 0), 0x100u);
    EXPECT_EQ(add_fields(0xff, 1, 0x80), 0u);
    EXPECT_EQ(add_fields(0x00000000ffffffff, 1, 0x80000000), 0u);
    EXPECT_EQ(add_fields(0x7fffffffffffffff, 1, 0x8000000000000000), 0x8000000000000000u);
    EXPECT_EQ(add_fields(0xffff0001ffffffff, 0x0001000100000001, 0x8000800080008000), 0x00000002ffff0000u);
    EXPECT_EQ(add_fields(0x5555, 0xffff, 0xffffffffffffffff), 0xaaaau);  // fields of one bit: exclusive or
}

std::uint64_t perform(std::uint64_t& value, const RdmapAtomicRequest& request) {
    return perform_atomic(request, reinterpret_cast<std::byte*>(&value));
}

TEST(Atomics, FetchAddReturnsWhatWasThere) {
    alignas(8) std::uint64_t value = 40;
    EXPECT_EQ(perform(value, {.operation = fetch_add, .data = 2, .mask = 0}), 40u);
    EXPECT_EQ(value, 42u);
    value = 0xffffffff;
    EXPECT_EQ(perform(value, {.operation = fetch_add, .data = 1, .mask = 0x80000000}), 0xffffffffu);
    EXPECT_EQ(value, 0u);
    EXPECT_EQ(perform(value, {.operation = fetch_add, .data = 0, .mask = 0x80000000}), 0u);
    EXPECT_EQ(value, 0u);
}

TEST(Atomics, CompareSwapComparesAndSwapsUnderMasks) {
    alignas(8) std::uint64_t value = 5;
    EXPECT_EQ(perform(value, {.operation = compare_swap, .data = 9, .compare = 5}), 5u);
    EXPECT_EQ(value, 9u);
    EXPECT_EQ(perform(value, {.operation = compare_swap, .data = 1, .compare = 5}), 9u);
    EXPECT_EQ(value, 9u);
    // RFC 7306 section 5.1.2, with numbers put in by hand: the low octet decides, the high half is exchanged.
    value = 0x1111111122222233;
    const RdmapAtomicRequest masked{.operation = compare_swap,
                                    .data = 0xaaaaaaaabbbbbbbb,
                                    .mask = 0xffffffff00000000,
                                    .compare = 0x9999999999999933,
                                    .compare_mask = 0xff};
    EXPECT_EQ(perform(value, masked), 0x1111111122222233u);
    EXPECT_EQ(value, 0xaaaaaaaa22222233u);
    value = 0x34;
    EXPECT_EQ(perform(value, masked), 0x34u);
    EXPECT_EQ(value, 0x34u);
    // Without a compare mask everything is equal: a swap.
    EXPECT_EQ(perform(value, {.operation = compare_swap, .data = 77, .compare = 1, .compare_mask = 0}), 0x34u);
    EXPECT_EQ(value, 77u);
    EXPECT_EQ(perform(value, {.operation = compare_swap, .data = 1, .mask = 0, .compare_mask = 0}), 77u);
    EXPECT_EQ(value, 77u);
}

TEST(Atomics, LocalThreadsSeeThemInOneStep) {
    alignas(8) std::uint64_t value = 0;
    constexpr std::uint64_t rounds = 50000;
    constexpr std::uint64_t halves = 0x8000000080000000;
    std::thread other{[&] {
        std::atomic_ref<std::uint64_t> shared{value};
        for (std::uint64_t i = 0; i < rounds; ++i) shared.fetch_add(std::uint64_t{1} << 32);
    }};
    for (std::uint64_t i = 0; i < rounds; ++i)
        perform(value, {.operation = fetch_add, .data = 1, .mask = i % 2 == 0 ? 0 : halves});
    other.join();
    EXPECT_EQ(value, rounds << 32 | rounds);
}

}  // namespace
