#include "metrics/measure/account/compact_histogram.h"

#include <gtest/gtest.h>
#include <random>

namespace metrics {
namespace {

std::uint64_t counted(const Histogram& histogram) {
    std::uint64_t count = 0;
    for (const Histogram::Bucket& bucket : histogram.buckets()) count += bucket.count;
    return count;
}

/// One value of each power of two from 2^first on.
std::uint64_t power(unsigned number, unsigned first = 10) { return std::uint64_t{1} << (first + number); }

TEST(CompactHistogram, equals_the_full_one_where_no_bound_is_met) {
    std::mt19937_64 random(11);
    HistogramPages pages(100'000, 1000);
    for (unsigned round = 0; round < 50; ++round) {
        HistogramOwner owner;
        CompactHistogram compact;
        Histogram full;
        const unsigned least_shift = 1 + static_cast<unsigned>(random() % 50);
        for (unsigned i = 0; i < 2000; ++i) {
            const std::uint64_t value = random() >> (least_shift + random() % (64 - least_shift));
            compact.record(pages, owner, value);
            full.record(value);
        }
        EXPECT_EQ(compact.unpack(pages), full);
        EXPECT_EQ(compact.count(), full.count());
        EXPECT_EQ(compact.sum(), full.sum());
        EXPECT_EQ(compact.min(), full.min());
        EXPECT_EQ(compact.max(), full.max());
        EXPECT_EQ(pages.used(), owner.pages);
        compact.release(pages, owner);
        EXPECT_EQ(owner.pages, 0u);
        EXPECT_EQ(compact.unpack(pages), Histogram{});
    }
    EXPECT_EQ(pages.refused(), 0u);
    EXPECT_EQ(pages.used(), 0u);
}

TEST(CompactHistogram, many_share_the_pool_without_mixing) {
    std::mt19937_64 random(12);
    HistogramPages pages(100'000, 1000);
    struct Pair {
        HistogramOwner owner;
        CompactHistogram compact;
        Histogram full;
    };
    std::vector<Pair> pairs(40);
    for (unsigned i = 0; i < 100'000; ++i) {
        Pair& pair = pairs[random() % pairs.size()];
        if (random() % 3000 == 0) {
            pair.compact.release(pages, pair.owner);
            pair.full = {};
        }
        const std::uint64_t value = random() >> (20 + random() % 30);
        pair.compact.record(pages, pair.owner, value);
        pair.full.record(value);
    }
    for (const Pair& pair : pairs) EXPECT_EQ(pair.compact.unpack(pages), pair.full);
}

TEST(CompactHistogram, counters_carry_beyond_8_bits) {
    HistogramPages pages(10);
    HistogramOwner owner;
    CompactHistogram compact;
    Histogram full;
    for (unsigned i = 0; i < 255; ++i) compact.record(pages, owner, 4096);
    EXPECT_EQ(pages.used(), 1u);
    for (unsigned i = 0; i < 200'001 - 255; ++i) compact.record(pages, owner, 4096);
    for (unsigned i = 0; i < 65536; ++i) compact.record(pages, owner, 7000);
    for (unsigned i = 0; i < 256; ++i) compact.record(pages, owner, 5000);
    compact.record(pages, owner, 7);
    full.record(4096, 200'001);
    full.record(5000, 256);
    full.record(7000, 65536);
    full.record(7);
    EXPECT_EQ(compact.unpack(pages), full);
    EXPECT_EQ(pages.refused(), 0u);
    EXPECT_EQ(pages.used(), 4u);  // 4096, 5000 and 7000 share a power of two and its two carries
    EXPECT_EQ(owner.pages, 2u);
    compact.release(pages, owner);
    EXPECT_EQ(pages.used(), 0u);
    EXPECT_EQ(owner.pages, 0u);
    // What was a carry is a clean page again.
    for (unsigned number = 0; number < 4; ++number) compact.record(pages, owner, power(number));
    EXPECT_EQ(counted(compact.unpack(pages)), 4u);
}

TEST(CompactHistogram, beyond_the_owners_bound_the_nearest_page_takes_the_value) {
    HistogramPages pages(1000, 2);
    HistogramOwner owner;
    CompactHistogram histogram;
    histogram.record(pages, owner, 1 << 10);  // page of 1024..2047
    histogram.record(pages, owner, 1 << 20);  // page of 2^20..2^21 - 1
    EXPECT_EQ(pages.refused(), 0u);
    histogram.record(pages, owner, 1 << 12);  // above the first page, nearer to it: its last bucket
    histogram.record(pages, owner, 1 << 19);  // below the second: its first bucket
    histogram.record(pages, owner, 3);        // below the first: its first bucket
    histogram.record(pages, owner, 1 << 30);  // above the second: its last bucket
    EXPECT_EQ(pages.refused(), 4u);
    EXPECT_EQ(owner.pages, 2u);
    const Histogram full = histogram.unpack(pages);
    const unsigned low = HistogramBuckets::index_of(1 << 10);
    const unsigned high = HistogramBuckets::index_of(1 << 20);
    const std::vector<Histogram::Bucket> expected{{static_cast<std::uint16_t>(low), 2},
                                                  {static_cast<std::uint16_t>(low + 63), 1},
                                                  {static_cast<std::uint16_t>(high), 2},
                                                  {static_cast<std::uint16_t>(high + 63), 1}};
    EXPECT_EQ(full.buckets(), expected);
    EXPECT_EQ(full.min(), 3u);
    EXPECT_EQ(full.max(), 1u << 30);
    EXPECT_EQ(full.sum(), (1u << 10) + (1u << 20) + (1u << 12) + (1u << 19) + 3 + (1u << 30));

    // Another distribution of the same flow still gets its first page, and no second one.
    CompactHistogram other;
    other.record(pages, owner, 500);
    EXPECT_EQ(owner.pages, 3u);
    other.record(pages, owner, 5'000'000);
    EXPECT_EQ(owner.pages, 3u);
    EXPECT_EQ(pages.refused(), 5u);
}

/// A wide distribution among narrow ones takes what they leave; where all are wide, each has its share.
TEST(CompactHistogram, what_others_leave_is_granted_too) {
    constexpr unsigned wide = 20;
    const auto fill = [](HistogramPages& pages, HistogramOwner& owner, CompactHistogram& histogram, unsigned powers) {
        for (unsigned number = 0; number < powers; ++number) histogram.record(pages, owner, power(number));
    };
    HistogramPages alone(1000, 4, 30);
    HistogramOwner owner;
    CompactHistogram histogram;
    fill(alone, owner, histogram, wide);
    EXPECT_EQ(alone.refused(), 0u);  // the reserve
    EXPECT_EQ(owner.pages, wide);
    histogram.release(alone, owner);

    HistogramPages pages(1000, 4, 0);
    std::vector<HistogramOwner> owners(20);
    std::vector<CompactHistogram> histograms(owners.size());
    for (std::size_t i = 1; i < owners.size(); ++i) fill(pages, owners[i], histograms[i], 1);
    fill(pages, owners[0], histograms[0], wide);
    EXPECT_EQ(pages.refused(), 0u);  // 20 flows may hold 40 pages
    for (std::size_t i = 1; i < owners.size(); ++i) fill(pages, owners[i], histograms[i], wide);
    for (std::size_t i = 1; i < owners.size(); ++i) EXPECT_EQ(owners[i].pages, 4u) << i;
    EXPECT_EQ(pages.used(), wide + 19u * 4);
    EXPECT_EQ(pages.refused(), 19u * (wide - 4));

    // What is given back counts for no flow.
    for (std::size_t i = 0; i < owners.size(); ++i) histograms[i].release(pages, owners[i]);
    fill(pages, owners[0], histograms[0], wide);
    EXPECT_EQ(owners[0].pages, 4u);
}

TEST(CompactHistogram, of_a_pool_without_pages_keeps_what_needs_none) {
    HistogramPages pages(0);
    HistogramOwner owner;
    CompactHistogram histogram;
    for (const std::uint64_t value : {1000u, 2000u, 3000u}) histogram.record(pages, owner, value);
    EXPECT_EQ(pages.refused(), 3u);
    EXPECT_EQ(pages.octets(), 0u);
    const Histogram full = histogram.unpack(pages);
    EXPECT_EQ(full.count(), 3u);
    EXPECT_EQ(full.sum(), 6000u);
    EXPECT_EQ(full.min(), 1000u);
    EXPECT_EQ(full.max(), 3000u);
    EXPECT_NEAR(static_cast<double>(*full.quantile(0.5)), 2000, 20);
    EXPECT_EQ(counted(full), 3u);
    histogram.release(pages, owner);
    EXPECT_EQ(owner.pages, 0u);
}

TEST(CompactHistogram, bounds_change_buckets_but_never_counts) {
    std::mt19937_64 random(13);
    HistogramPages pages(40, 6);
    std::vector<CompactHistogram> histograms(20);
    std::vector<HistogramOwner> owners(histograms.size());
    std::vector<std::uint64_t> counts(histograms.size());
    for (unsigned i = 0; i < 200'000; ++i) {
        const std::size_t which = random() % histograms.size();
        if (random() % 2000 == 0) {
            histograms[which].release(pages, owners[which]);
            counts[which] = 0;
        }
        histograms[which].record(pages, owners[which], random() >> (random() % 64));
        ++counts[which];
        ASSERT_LE(pages.used(), 80u);  // with a carry to each
    }
    EXPECT_GT(pages.refused(), 0u);
    for (std::size_t which = 0; which < histograms.size(); ++which) {
        const Histogram full = histograms[which].unpack(pages);
        EXPECT_EQ(full.count(), counts[which]);
        EXPECT_EQ(counted(full), counts[which]);
    }
}

TEST(HistogramPages, memory_is_used_again) {
    HistogramPages pages(100'000, 1000);
    std::size_t octets = 0;
    for (unsigned round = 0; round < 20; ++round) {
        std::vector<CompactHistogram> histograms(100);
        std::vector<HistogramOwner> owners(histograms.size());
        for (std::size_t i = 0; i < histograms.size(); ++i)
            for (unsigned number = 0; number < 20; ++number) histograms[i].record(pages, owners[i], power(number));
        EXPECT_EQ(pages.used(), 2000u);
        if (round == 0) octets = pages.octets();
        EXPECT_EQ(pages.octets(), octets);
        for (std::size_t i = 0; i < histograms.size(); ++i) histograms[i].release(pages, owners[i]);
    }
    // A page is 64 octets and 8 of links; slabs may be filled in part.
    EXPECT_GE(octets, 2000u * 72);
    EXPECT_LE(octets, 2400u * 72);
}

}  // namespace
}  // namespace metrics
