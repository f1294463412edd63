#include "base/saturating.h"

#include <gtest/gtest.h>

namespace base::saturating {
namespace {

TEST(Saturating, SumsStayAtTheHighestNumber) {
    EXPECT_EQ(add(1, 2), 3u);
    EXPECT_EQ(add(0, UINT64_MAX), UINT64_MAX);
    EXPECT_EQ(add(UINT64_MAX - 1, 1), UINT64_MAX);
    EXPECT_EQ(add(UINT64_MAX - 1, 2), UINT64_MAX);
    EXPECT_EQ(add(UINT64_MAX, UINT64_MAX), UINT64_MAX);
}

TEST(Saturating, DifferencesStayAtZero) {
    EXPECT_EQ(subtract(3, 2), 1u);
    EXPECT_EQ(subtract(2, 2), 0u);
    EXPECT_EQ(subtract(0, UINT64_MAX), 0u);
}

TEST(Saturating, ProductsStayAtTheHighestNumber) {
    EXPECT_EQ(multiply(3, 4), 12u);
    EXPECT_EQ(multiply(std::uint64_t{1} << 32, std::uint64_t{1} << 31), std::uint64_t{1} << 63);
    EXPECT_EQ(multiply(std::uint64_t{1} << 32, std::uint64_t{1} << 32), UINT64_MAX);
    EXPECT_EQ(multiply(UINT64_MAX, 0), 0u);
}

}  // namespace
}  // namespace base::saturating
