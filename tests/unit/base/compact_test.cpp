#include "base/compact.h"

#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <string>

namespace {

struct Pair {
    int first = 0;
    std::string second = {};
    bool operator==(const Pair&) const = default;
};

TEST(Compact, AnEmptyOptionalIsAPointer) {
    struct Large {
        std::array<std::uint64_t, 64> numbers{};
    };
    EXPECT_EQ(sizeof(base::CompactOptional<Large>), sizeof(void*));
    EXPECT_EQ(sizeof(base::CompactValue<Large>), sizeof(void*));
    EXPECT_EQ(sizeof(base::CompactArray<std::uint64_t, 64>), sizeof(void*));
    EXPECT_EQ(sizeof(base::SparseArray<Large, 4>), sizeof(void*));
}

TEST(Compact, OptionalsAreCopiedDeepAndCompared) {
    base::CompactOptional<Pair> one;
    EXPECT_FALSE(one);
    EXPECT_EQ(one, base::CompactOptional<Pair>());
    one = Pair{1, "a"};
    base::CompactOptional<Pair> other = one;
    EXPECT_EQ(one, other);
    other->first = 2;
    EXPECT_EQ(one->first, 1);
    EXPECT_FALSE(one == other);
    one = other;
    EXPECT_EQ(one->first, 2);
    EXPECT_EQ(one.value_or({}).second, "a");
    one = {};
    EXPECT_FALSE(one.has_value());
    EXPECT_FALSE(one == other);
    other = one;
    EXPECT_FALSE(other.has_value());
    EXPECT_EQ(other.value_or({7, "b"}).first, 7);
}

TEST(Compact, ReadingAValueTakesNoMemory) {
    base::CompactValue<Pair> value;
    const auto& read = value;
    EXPECT_EQ(read->first, 0);
    EXPECT_FALSE(value.has_value());
    value = Pair{};
    EXPECT_FALSE(value.has_value());
    value->first = 3;
    EXPECT_TRUE(value.has_value());
    EXPECT_EQ(read->first, 3);
}

TEST(Compact, AnArrayOfZerosTakesNoMemory) {
    base::CompactArray<std::uint64_t, 3> numbers;
    const auto& read = numbers;
    EXPECT_EQ(read[2], 0u);
    EXPECT_EQ(read.end() - read.begin(), 3);
    const std::uint64_t* const zeros = read.begin();
    numbers = std::array<std::uint64_t, 3>{};
    EXPECT_EQ(read.begin(), zeros);
    numbers[1] = 5;
    EXPECT_NE(read.begin(), zeros);
    EXPECT_EQ(read.values(), (std::array<std::uint64_t, 3>{0, 5, 0}));
    EXPECT_FALSE(numbers == (base::CompactArray<std::uint64_t, 3>()));
    numbers = std::array<std::uint64_t, 3>{};
    EXPECT_EQ(read.begin(), zeros);
}

TEST(Compact, ElementsOfASparseArrayStayWhereTheyAre) {
    base::SparseArray<Pair, 4> pairs;
    Pair& second = pairs[1];
    second.first = 1;
    pairs[3].first = 3;
    EXPECT_EQ(&second, &pairs[1]);
    EXPECT_TRUE(pairs.has(1));
    EXPECT_FALSE(pairs.has(2));
    const auto& read = pairs;
    int sum = 0;
    for (const Pair& pair : read) sum += pair.first;
    EXPECT_EQ(sum, 4);
    EXPECT_FALSE(pairs.has(0));
    const auto found = std::find_if(read.begin(), read.end(), [](const Pair& pair) { return pair.first == 3; });
    EXPECT_EQ(found - read.begin(), 3);
    const base::SparseArray<Pair, 4> copy = pairs;
    pairs.reset(1);
    EXPECT_EQ(read[1], Pair{});
    EXPECT_EQ(read[3].first, 3);
    EXPECT_EQ(copy[1].first, 1);
    pairs = copy;
    EXPECT_EQ(read[1].first, 1);
}

}  // namespace
