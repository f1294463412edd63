#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/compact.h"

namespace metrics::inline figures {

/// Buckets: 64 linear steps for each power of two, so that a bucket's midpoint is within 1/128 of every value in it.
/// Each value below 64 has its own bucket. Values above 2^63 - 1 count as 2^63 - 1.
struct HistogramBuckets {
    static constexpr unsigned steps_bits = 6;
    static constexpr unsigned steps = 1u << steps_bits;
    static constexpr unsigned count = (63 - steps_bits) * steps + steps;
    static constexpr std::uint64_t max_value = ~std::uint64_t{0} >> 1;

    static constexpr unsigned index_of(std::uint64_t value) {
        const std::uint64_t bounded = std::min(value, max_value);
        const unsigned shift = static_cast<unsigned>(std::bit_width(bounded | steps)) - 1 - steps_bits;
        return shift * steps + static_cast<unsigned>(bounded >> shift);
    }
    /// Least value of a bucket; of `count`, one more than the greatest value.
    static constexpr std::uint64_t lower_bound(unsigned index) {
        const unsigned power = index / steps;
        return power == 0 ? index : std::uint64_t{steps + index % steps} << (power - 1);
    }
    /// Its midpoint, rounded down.
    static constexpr std::uint64_t representative(unsigned index) {
        const std::uint64_t low = lower_bound(index);
        return low + (lower_bound(index + 1) - 1 - low) / 2;
    }
};

/// A distribution in the form for output and merging. Count, sum, least and greatest value are exact, and quantiles are
/// within 1 %; empty buckets take no memory. Merging is associative and commutative, so that workers, intervals and
/// hosts can be added up. Counts and sums stay at 2^64 - 1 where they would exceed it.
class Histogram {
public:
    struct Bucket {
        std::uint16_t index = 0;
        std::uint64_t count = 0;
        bool operator==(const Bucket&) const = default;
    };

    void record(std::uint64_t value, std::uint64_t times = 1);
    /// Adds a whole bucket; call it with ascending indices. Unpacks a compact histogram. Does not change sum or bounds.
    void add_bucket(unsigned index, std::uint64_t times);
    /// The exact sum and bounds of what add_bucket() added.
    void set_exact(std::uint64_t sum, std::uint64_t min, std::uint64_t max);
    void merge(const Histogram& other);
    /// The values added since `earlier`, a former state of this histogram. Least and greatest value are then bounds of
    /// buckets.
    Histogram since(const Histogram& earlier) const;
    /// A histogram from its parts; no value if no histogram has such buckets (ascending, none empty) and bounds.
    static std::optional<Histogram> restore(std::vector<Bucket> buckets, std::uint64_t sum, std::uint64_t min,
                                            std::uint64_t max);

    std::uint64_t count() const { return contents_ ? contents_->count : 0; }
    std::uint64_t sum() const { return contents_ ? contents_->sum : 0; }
    bool empty() const { return !contents_; }
    std::optional<std::uint64_t> min() const;
    std::optional<std::uint64_t> max() const;
    std::optional<double> mean() const;
    /// `share` 0 to 1: the least value that at least that share of the values does not exceed (nearest rank), within 1
    /// %; 0 is exactly min, 1 exactly max. No value if nothing was recorded.
    std::optional<std::uint64_t> quantile(double share) const;
    const std::vector<Bucket>& buckets() const;

    bool operator==(const Histogram&) const = default;

private:
    /// Most histograms of a flow stay empty.
    struct Contents {
        std::vector<Bucket> buckets;  ///< ascending, without empty ones
        std::uint64_t count = 0;      ///< above 0
        std::uint64_t sum = 0;
        std::uint64_t min = 0;
        std::uint64_t max = 0;
        bool operator==(const Contents&) const = default;
    };
    static std::vector<Bucket>::const_iterator add_to_known(std::vector<Bucket>& into,
                                                            const std::vector<Bucket>& other);
    static void add_to(Contents& contents, unsigned index, std::uint64_t times);
    base::CompactOptional<Contents> contents_;
};

}  // namespace metrics::figures
