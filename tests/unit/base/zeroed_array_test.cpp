#include "base/zeroed_array.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/support/sanitized.h"

namespace base {
namespace {

struct Pair {
    std::uint64_t key;
    std::uint32_t value;
};

TEST(ZeroedArray, begins_with_zeros_and_keeps_what_is_written) {
    ZeroedArray<Pair> pairs(1000);
    ASSERT_EQ(pairs.size(), 1000u);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        EXPECT_EQ(pairs[i].key, 0u);
        EXPECT_EQ(pairs[i].value, 0u);
        pairs[i] = {i, static_cast<std::uint32_t>(2 * i)};
    }
    for (std::size_t i = 0; i < pairs.size(); ++i) EXPECT_EQ(pairs[i].value, 2 * pairs[i].key);
}

TEST(ZeroedArray, is_empty_until_it_has_a_size_and_after_it_was_moved) {
    ZeroedArray<Pair> pairs;
    EXPECT_TRUE(pairs.empty());
    pairs = ZeroedArray<Pair>(3);
    pairs[2].key = 7;
    ZeroedArray<Pair> moved(std::move(pairs));
    EXPECT_TRUE(pairs.empty());  // NOLINT(bugprone-use-after-move)
    ASSERT_EQ(moved.size(), 3u);
    EXPECT_EQ(moved[2].key, 7u);
}

TEST(ZeroedArray, of_no_objects_is_no_failure) { EXPECT_TRUE(ZeroedArray<Pair>(0).empty()); }

TEST(ZeroedArray, uses_the_pages_that_are_written) {
    if (support::sanitized) GTEST_SKIP() << "the sanitizer's allocator has pages of its own";
    const auto faults = [] {
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        return usage.ru_minflt;
    };
    constexpr std::size_t page = 4096;
    const long before = faults();
    ZeroedArray<std::uint8_t> table(16'384 * page);
    for (std::size_t i = 0; i < 4; ++i) table[i * page] = 1;
    EXPECT_LE(faults() - before, 32);
}

}  // namespace
}  // namespace base
