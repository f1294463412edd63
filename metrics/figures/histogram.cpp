#include "metrics/figures/histogram.h"

#include <cmath>

#include "base/saturating.h"

namespace metrics::inline figures {

void Histogram::record(std::uint64_t value, std::uint64_t times) {
    if (times == 0) return;
    value = std::min(value, HistogramBuckets::max_value);
    min_ = count_ == 0 ? value : std::min(min_, value);
    max_ = std::max(max_, value);
    sum_ = base::saturating::add(sum_, base::saturating::multiply(value, times));
    add_bucket(HistogramBuckets::index_of(value), times);
}

void Histogram::add_bucket(unsigned index, std::uint64_t times) {
    if (times == 0) return;
    count_ = base::saturating::add(count_, times);
    const auto wanted = static_cast<std::uint16_t>(std::min(index, HistogramBuckets::count - 1));
    auto place = buckets_.end();
    if (!buckets_.empty() && buckets_.back().index >= wanted)
        place = std::lower_bound(buckets_.begin(), buckets_.end(), wanted,
                                 [](const Bucket& bucket, std::uint16_t sought) { return bucket.index < sought; });
    if (place != buckets_.end() && place->index == wanted)
        place->count = base::saturating::add(place->count, times);
    else
        buckets_.insert(place, Bucket{wanted, times});
}

/// Adds what there are buckets for, until one is missing; returns that one. What is merged again and again misses none,
/// and its buckets lie side by side: the first look finds them.
std::vector<Histogram::Bucket>::const_iterator Histogram::add_to_known(const Histogram& other) {
    auto mine = buckets_.begin();
    auto theirs = other.buckets_.begin();
    for (; theirs != other.buckets_.end() && mine != buckets_.end() && mine->index <= theirs->index; ++theirs) {
        const auto left = static_cast<std::size_t>(buckets_.end() - mine);
        const auto farthest = static_cast<std::ptrdiff_t>(std::min<std::size_t>(theirs->index - mine->index, left - 1));
        if (mine[farthest].index == theirs->index)
            mine += farthest;
        else
            mine = std::lower_bound(mine, mine + farthest, theirs->index,
                                    [](const Bucket& bucket, std::uint16_t index) { return bucket.index < index; });
        if (mine->index != theirs->index) break;
        mine->count = base::saturating::add(mine->count, theirs->count);
    }
    return theirs;
}

void Histogram::set_exact(std::uint64_t sum, std::uint64_t min, std::uint64_t max) {
    sum_ = sum;
    min_ = min;
    max_ = max;
}

void Histogram::merge(const Histogram& other) {
    if (other.empty()) return;
    min_ = empty() ? other.min_ : std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
    count_ = base::saturating::add(count_, other.count_);
    sum_ = base::saturating::add(sum_, other.sum_);
    auto theirs = add_to_known(other);
    if (theirs == other.buckets_.end()) return;

    std::vector<Bucket> merged;
    merged.reserve(buckets_.size() + other.buckets_.size());
    auto mine = buckets_.begin();
    while (mine != buckets_.end() || theirs != other.buckets_.end()) {
        if (theirs == other.buckets_.end() || (mine != buckets_.end() && mine->index < theirs->index)) {
            merged.push_back(*mine++);
        } else if (mine == buckets_.end() || theirs->index < mine->index) {
            merged.push_back(*theirs++);
        } else {
            merged.push_back({mine->index, base::saturating::add(mine->count, theirs->count)});
            ++mine;
            ++theirs;
        }
    }
    buckets_ = std::move(merged);
}

Histogram Histogram::since(const Histogram& earlier) const {
    if (earlier.empty()) return *this;
    Histogram rest;
    auto former = earlier.buckets_.begin();
    for (const Bucket& bucket : buckets_) {
        while (former != earlier.buckets_.end() && former->index < bucket.index) ++former;
        const bool known = former != earlier.buckets_.end() && former->index == bucket.index;
        rest.add_bucket(bucket.index, known ? base::saturating::subtract(bucket.count, former->count) : bucket.count);
    }
    if (rest.empty()) return rest;
    rest.sum_ = base::saturating::subtract(sum_, earlier.sum_);
    const unsigned first = rest.buckets_.front().index;
    const unsigned last = rest.buckets_.back().index;
    rest.min_ = std::max(min_, HistogramBuckets::lower_bound(first));
    rest.max_ = std::min(max_, HistogramBuckets::lower_bound(last + 1) - 1);
    // Where a bound of the pages put values into another's bucket, the bounds of buckets say nothing.
    if (rest.min_ > rest.max_) {
        rest.min_ = min_;
        rest.max_ = max_;
    }
    return rest;
}

std::optional<Histogram> Histogram::restore(std::vector<Bucket> buckets, std::uint64_t sum, std::uint64_t min,
                                            std::uint64_t max) {
    Histogram histogram;
    if (buckets.empty()) return sum == 0 && min == 0 && max == 0 ? std::optional(histogram) : std::nullopt;
    if (min > max || max > HistogramBuckets::max_value || buckets.back().index >= HistogramBuckets::count) return {};
    for (std::size_t i = 0; i < buckets.size(); ++i) {
        if (buckets[i].count == 0 || (i != 0 && buckets[i].index <= buckets[i - 1].index)) return {};
        histogram.count_ = base::saturating::add(histogram.count_, buckets[i].count);
    }
    histogram.buckets_ = std::move(buckets);
    histogram.sum_ = sum;
    histogram.min_ = min;
    histogram.max_ = max;
    return histogram;
}

std::optional<std::uint64_t> Histogram::min() const {
    if (empty()) return std::nullopt;
    return min_;
}

std::optional<std::uint64_t> Histogram::max() const {
    if (empty()) return std::nullopt;
    return max_;
}

std::optional<double> Histogram::mean() const {
    if (empty()) return std::nullopt;
    return static_cast<double>(sum_) / static_cast<double>(count_);
}

std::optional<std::uint64_t> Histogram::quantile(double share) const {
    if (empty()) return std::nullopt;
    if (!(share > 0)) return min_;
    // A share such as 0.07 is not exact in binary; 0.07 of 100 values must be rank 7 all the same.
    const double rank = std::ceil(std::min(share, 1.0) * static_cast<double>(count_) * (1 - 0x1p-50));
    if (rank <= 1) return min_;
    if (rank >= static_cast<double>(count_)) return max_;
    const auto wanted = static_cast<std::uint64_t>(rank);
    std::uint64_t passed = 0;
    for (const Bucket& bucket : buckets_) {
        passed = base::saturating::add(passed, bucket.count);
        if (passed >= wanted) return std::clamp(HistogramBuckets::representative(bucket.index), min_, max_);
    }
    return max_;
}

}  // namespace metrics::figures
