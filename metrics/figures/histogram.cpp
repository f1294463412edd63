#include "metrics/figures/histogram.h"

#include <cmath>

#include "base/saturating.h"

namespace metrics::inline figures {

void Histogram::record(std::uint64_t value, std::uint64_t times) {
    if (times == 0) return;
    value = std::min(value, HistogramBuckets::max_value);
    const bool first = empty();
    Contents& contents = contents_.obtain();
    contents.min = first ? value : std::min(contents.min, value);
    contents.max = std::max(contents.max, value);
    contents.sum = base::saturating::add(contents.sum, base::saturating::multiply(value, times));
    add_to(contents, HistogramBuckets::index_of(value), times);
}

void Histogram::add_bucket(unsigned index, std::uint64_t times) {
    if (times != 0) add_to(contents_.obtain(), index, times);
}

void Histogram::add_to(Contents& contents, unsigned index, std::uint64_t times) {
    std::vector<Bucket>& buckets = contents.buckets;
    contents.count = base::saturating::add(contents.count, times);
    const auto wanted = static_cast<std::uint16_t>(std::min(index, HistogramBuckets::count - 1));
    auto place = buckets.end();
    if (!buckets.empty() && buckets.back().index >= wanted)
        place = std::lower_bound(buckets.begin(), buckets.end(), wanted,
                                 [](const Bucket& bucket, std::uint16_t sought) { return bucket.index < sought; });
    if (place != buckets.end() && place->index == wanted)
        place->count = base::saturating::add(place->count, times);
    else
        buckets.insert(place, Bucket{wanted, times});
}

/// Adds what there are buckets for, until one is missing; returns that one. What is merged again and again misses none,
/// and its buckets lie side by side: the first look finds them.
std::vector<Histogram::Bucket>::const_iterator Histogram::add_to_known(std::vector<Bucket>& into,
                                                                       const std::vector<Bucket>& other) {
    auto mine = into.begin();
    auto theirs = other.begin();
    for (; theirs != other.end() && mine != into.end() && mine->index <= theirs->index; ++theirs) {
        const auto left = static_cast<std::size_t>(into.end() - mine);
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
    if (empty()) return;
    contents_->sum = sum;
    contents_->min = min;
    contents_->max = max;
}

const std::vector<Histogram::Bucket>& Histogram::buckets() const {
    static const std::vector<Bucket> none;
    return contents_ ? contents_->buckets : none;
}

void Histogram::merge(const Histogram& other) {
    if (other.empty()) return;
    if (empty()) {
        *this = other;
        return;
    }
    Contents& into = *contents_;
    const Contents& from = *other.contents_;
    into.min = std::min(into.min, from.min);
    into.max = std::max(into.max, from.max);
    into.count = base::saturating::add(into.count, from.count);
    into.sum = base::saturating::add(into.sum, from.sum);
    auto theirs = add_to_known(into.buckets, from.buckets);
    if (theirs == from.buckets.end()) return;

    std::vector<Bucket> merged;
    merged.reserve(into.buckets.size() + static_cast<std::size_t>(from.buckets.end() - theirs));
    auto mine = into.buckets.begin();
    while (mine != into.buckets.end() || theirs != from.buckets.end()) {
        if (theirs == from.buckets.end() || (mine != into.buckets.end() && mine->index < theirs->index)) {
            merged.push_back(*mine++);
        } else if (mine == into.buckets.end() || theirs->index < mine->index) {
            merged.push_back(*theirs++);
        } else {
            merged.push_back({mine->index, base::saturating::add(mine->count, theirs->count)});
            ++mine;
            ++theirs;
        }
    }
    into.buckets = std::move(merged);
}

Histogram Histogram::since(const Histogram& earlier) const {
    if (earlier.empty() || empty()) return *this;
    Histogram rest;
    const std::vector<Bucket>& before = earlier.buckets();
    auto former = before.begin();
    for (const Bucket& bucket : buckets()) {
        while (former != before.end() && former->index < bucket.index) ++former;
        const bool known = former != before.end() && former->index == bucket.index;
        rest.add_bucket(bucket.index, known ? base::saturating::subtract(bucket.count, former->count) : bucket.count);
    }
    if (rest.empty()) return rest;
    Contents& contents = *rest.contents_;
    contents.sum = base::saturating::subtract(sum(), earlier.sum());
    const unsigned first = contents.buckets.front().index;
    const unsigned last = contents.buckets.back().index;
    contents.min = std::max(contents_->min, HistogramBuckets::lower_bound(first));
    contents.max = std::min(contents_->max, HistogramBuckets::lower_bound(last + 1) - 1);
    // Where a bound of the pages put values into another's bucket, the bounds of buckets say nothing.
    if (contents.min > contents.max) {
        contents.min = contents_->min;
        contents.max = contents_->max;
    }
    return rest;
}

std::optional<Histogram> Histogram::restore(std::vector<Bucket> buckets, std::uint64_t sum, std::uint64_t min,
                                            std::uint64_t max) {
    Histogram histogram;
    if (buckets.empty()) return sum == 0 && min == 0 && max == 0 ? std::optional(histogram) : std::nullopt;
    if (min > max || max > HistogramBuckets::max_value || buckets.back().index >= HistogramBuckets::count) return {};
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
        if (buckets[i].count == 0 || (i != 0 && buckets[i].index <= buckets[i - 1].index)) return {};
        count = base::saturating::add(count, buckets[i].count);
    }
    histogram.contents_.emplace(Contents{std::move(buckets), count, sum, min, max});
    return histogram;
}

std::optional<std::uint64_t> Histogram::min() const {
    if (empty()) return std::nullopt;
    return contents_->min;
}

std::optional<std::uint64_t> Histogram::max() const {
    if (empty()) return std::nullopt;
    return contents_->max;
}

std::optional<double> Histogram::mean() const {
    if (empty()) return std::nullopt;
    return static_cast<double>(contents_->sum) / static_cast<double>(contents_->count);
}

std::optional<std::uint64_t> Histogram::quantile(double share) const {
    if (empty()) return std::nullopt;
    const auto& [buckets, count, sum, min, max] = *contents_;
    if (!(share > 0)) return min;
    // A share such as 0.07 is not exact in binary; 0.07 of 100 values must be rank 7 all the same.
    const double rank = std::ceil(std::min(share, 1.0) * static_cast<double>(count) * (1 - 0x1p-50));
    if (rank <= 1) return min;
    if (rank >= static_cast<double>(count)) return max;
    const auto wanted = static_cast<std::uint64_t>(rank);
    std::uint64_t passed = 0;
    for (const Bucket& bucket : buckets) {
        passed = base::saturating::add(passed, bucket.count);
        if (passed >= wanted) return std::clamp(HistogramBuckets::representative(bucket.index), min, max);
    }
    return max;
}

}  // namespace metrics::figures
