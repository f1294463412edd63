#include "metrics/figures/histogram.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <string>

namespace metrics {
namespace {
constexpr std::uint64_t largest = (std::uint64_t{1} << 63) - 1;

/// Nearest rank by its definition, in integers: the least value that `per_10000` of the values do not exceed.
std::uint64_t exact_quantile(const std::vector<std::uint64_t>& sorted, std::uint64_t per_10000) {
    const std::uint64_t rank = (per_10000 * sorted.size() + 9999) / 10000;
    return sorted[rank == 0 ? 0 : rank - 1];
}

struct Distribution {
    std::string name;
    std::function<std::uint64_t(std::mt19937_64&)> draw;
};

std::vector<Distribution> distributions() {
    std::vector<Distribution> all;
    for (const unsigned bits : {1u, 6u, 7u, 10u, 20u, 31u, 32u, 33u, 48u, 62u, 63u})
        all.push_back({"uniform below 2^" + std::to_string(bits),
                       [bits](std::mt19937_64& random) { return random() >> (64 - bits); }});
    all.push_back({"log-uniform", [](std::mt19937_64& random) {
                       const unsigned shift = 1 + static_cast<unsigned>(random() % 63);
                       return random() >> shift;
                   }});
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{63}, std::uint64_t{64},
                                      std::uint64_t{12345678901}, largest - 1, largest})
        all.push_back({"constant " + std::to_string(value), [value](std::mt19937_64&) { return value; }});
    all.push_back({"bimodal", [](std::mt19937_64& random) {
                       return random() % 10 < 9 ? 1800 + random() % 400 : 4'000'000'000 + random() % 1'000'000;
                   }});
    all.push_back({"exponential of 10 us", [](std::mt19937_64& random) {
                       const double share = static_cast<double>(random() >> 11) * 0x1p-53;
                       return static_cast<std::uint64_t>(-10'000.0 * std::log1p(-share));
                   }});
    return all;
}

TEST(HistogramBuckets, tile_all_values_up_to_2_to_the_63) {
    EXPECT_EQ(HistogramBuckets::lower_bound(0), 0u);
    EXPECT_EQ(HistogramBuckets::lower_bound(HistogramBuckets::count), largest + 1);
    for (unsigned index = 0; index < HistogramBuckets::count; ++index) {
        const std::uint64_t low = HistogramBuckets::lower_bound(index);
        const std::uint64_t high = HistogramBuckets::lower_bound(index + 1) - 1;
        const std::uint64_t middle = HistogramBuckets::representative(index);
        ASSERT_LE(low, high);
        ASSERT_EQ(HistogramBuckets::index_of(low), index);
        ASSERT_EQ(HistogramBuckets::index_of(high), index);
        ASSERT_LE(low, middle);
        ASSERT_LE(middle, high);
        // 128 * deviation <= value, for the value that is worst off on either side.
        ASSERT_LE(middle - low, low / 128) << index;
        ASSERT_LE(high - middle, high / 128 + 1) << index;
    }
}

TEST(HistogramBuckets, values_below_128_are_exact) {
    for (std::uint64_t value = 0; value < 128; ++value)
        EXPECT_EQ(HistogramBuckets::representative(HistogramBuckets::index_of(value)), value);
    EXPECT_EQ(HistogramBuckets::index_of(128), HistogramBuckets::index_of(129));
    EXPECT_NE(HistogramBuckets::index_of(129), HistogramBuckets::index_of(130));
}

TEST(HistogramBuckets, what_is_above_counts_as_the_largest) {
    EXPECT_EQ(HistogramBuckets::index_of(largest + 1), HistogramBuckets::count - 1);
    EXPECT_EQ(HistogramBuckets::index_of(~std::uint64_t{0}), HistogramBuckets::count - 1);
}

TEST(Histogram, is_absent_where_nothing_was_recorded) {
    const Histogram none;
    EXPECT_TRUE(none.empty());
    EXPECT_FALSE(none.min() || none.max() || none.mean() || none.quantile(0.5));
    Histogram still_none;
    still_none.record(17, 0);
    EXPECT_EQ(still_none, none);
}

TEST(Histogram, of_one_to_a_hundred) {
    Histogram histogram;
    for (std::uint64_t value = 1; value <= 100; ++value) histogram.record(value);
    EXPECT_EQ(histogram.count(), 100u);
    EXPECT_EQ(histogram.sum(), 5050u);
    EXPECT_EQ(histogram.min(), 1u);
    EXPECT_EQ(histogram.max(), 100u);
    EXPECT_DOUBLE_EQ(*histogram.mean(), 50.5);
    // Every percentile of 1..100 is itself, shares like 0.07 and 0.29 that binary cannot hold among them.
    for (unsigned percent = 1; percent <= 100; ++percent)
        EXPECT_EQ(histogram.quantile(percent / 100.0), percent) << percent;
    EXPECT_EQ(histogram.quantile(0), 1u);
    EXPECT_EQ(histogram.quantile(-1), 1u);
    EXPECT_EQ(histogram.quantile(2), 100u);
    EXPECT_EQ(histogram.quantile(std::nan("")), 1u);
}

TEST(Histogram, quantiles_are_within_one_percent_of_the_sorted_values) {
    std::mt19937_64 random(20260101);
    for (const Distribution& distribution : distributions()) {
        for (const std::size_t size : {1u, 2u, 7u, 100u, 20'000u}) {
            Histogram histogram;
            std::vector<std::uint64_t> values;
            for (std::size_t i = 0; i < size; ++i) {
                values.push_back(distribution.draw(random));
                histogram.record(values.back());
            }
            std::sort(values.begin(), values.end());
            EXPECT_EQ(histogram.min(), values.front());
            EXPECT_EQ(histogram.max(), values.back());
            EXPECT_EQ(histogram.quantile(0), values.front());
            EXPECT_EQ(histogram.quantile(1), values.back());
            for (const std::uint64_t per_10000 : {1u, 100u, 500u, 2500u, 5000u, 7500u, 9000u, 9900u, 9990u, 9999u}) {
                const auto exact = static_cast<double>(exact_quantile(values, per_10000));
                const auto told = static_cast<double>(*histogram.quantile(static_cast<double>(per_10000) / 10000.0));
                ASSERT_NEAR(told, exact, exact / 100)
                    << distribution.name << ", " << size << " values, " << per_10000 << " of 10000";
            }
        }
    }
}

TEST(Histogram, merging_is_recording_all_in_any_order) {
    std::mt19937_64 random(7);
    const auto all = distributions();
    for (unsigned round = 0; round < 200; ++round) {
        std::array<Histogram, 3> parts;
        Histogram whole;
        for (Histogram& part : parts)
            for (std::uint64_t i = random() % 300; i > 0; --i) {
                // Small enough for the sum to be exact.
                const std::uint64_t value = all[random() % all.size()].draw(random) >> 10;
                part.record(value);
                whole.record(value);
            }
        Histogram left = parts[0];
        left.merge(parts[1]);
        Histogram turned = parts[1];
        turned.merge(parts[0]);
        EXPECT_EQ(left, turned);
        left.merge(parts[2]);
        Histogram right = parts[1];
        right.merge(parts[2]);
        Histogram first = parts[0];
        first.merge(right);
        EXPECT_EQ(left, first);
        EXPECT_EQ(left, whole);
    }
}

TEST(Histogram, since_is_what_came_on_top) {
    std::mt19937_64 random(8);
    for (unsigned round = 0; round < 100; ++round) {
        Histogram before;
        Histogram on_top;
        for (unsigned i = 0; i < 200; ++i) before.record(random() >> (20 + random() % 40));
        for (unsigned i = 0; i < 100; ++i) on_top.record(random() >> (20 + random() % 40));
        Histogram after = before;
        after.merge(on_top);
        const Histogram since = after.since(before);
        EXPECT_EQ(since.buckets(), on_top.buckets());
        EXPECT_EQ(since.count(), on_top.count());
        EXPECT_EQ(since.sum(), on_top.sum());
        // Bounds are those of the buckets in which they lie.
        EXPECT_LE(*since.min(), *on_top.min());
        EXPECT_EQ(HistogramBuckets::index_of(*since.min()), HistogramBuckets::index_of(*on_top.min()));
        EXPECT_GE(*since.max(), *on_top.max());
        EXPECT_EQ(HistogramBuckets::index_of(*since.max()), HistogramBuckets::index_of(*on_top.max()));
        EXPECT_EQ(after.since({}), after);
        EXPECT_TRUE(after.since(after).empty());
        EXPECT_TRUE(before.since(after).empty());
    }
}

TEST(Histogram, what_exceeds_64_bits_stays_at_the_bound) {
    Histogram histogram;
    histogram.record(~std::uint64_t{0}, 3);
    EXPECT_EQ(histogram.max(), largest);
    EXPECT_EQ(histogram.sum(), ~std::uint64_t{0});
    histogram.record(1, ~std::uint64_t{0});
    EXPECT_EQ(histogram.count(), ~std::uint64_t{0});
    histogram.merge(Histogram{histogram});
    EXPECT_EQ(histogram.count(), ~std::uint64_t{0});
    EXPECT_EQ(histogram.quantile(0.5), 1u);
}

TEST(Histogram, buckets_may_come_in_any_order) {
    Histogram ascending;
    Histogram shuffled;
    for (const unsigned index : {3u, 70u, 500u, 501u}) ascending.add_bucket(index, index);
    for (const unsigned index : {501u, 3u, 500u, 70u}) shuffled.add_bucket(index, index);
    EXPECT_EQ(ascending, shuffled);
    EXPECT_EQ(ascending.count(), 3u + 70 + 500 + 501);
    EXPECT_EQ(ascending.sum(), 0u);
    shuffled.add_bucket(100'000, 1);
    EXPECT_EQ(shuffled.buckets().back().index, HistogramBuckets::count - 1);
}

}  // namespace
}  // namespace metrics
