#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "metrics/histogram/histogram.h"

namespace metrics {

/// Pages of counters that all histograms of one worker share. A page is half a power of two: 32 counters of 16 bits.
/// Grows in slabs up to its bound and never gives memory back but to its own free list; not thread-safe.
class HistogramPages {
public:
    /// `max_pages` bounds the pool, `max_pages_of_owner` what one flow may take of it.
    explicit HistogramPages(std::size_t max_pages, unsigned max_pages_of_owner = 28);
    ~HistogramPages();
    HistogramPages(const HistogramPages&) = delete;
    HistogramPages& operator=(const HistogramPages&) = delete;

    std::size_t used() const;       ///< pages handed out
    std::size_t octets() const;     ///< memory taken from the system
    std::uint64_t refused() const;  ///< values counted in a bucket that was not theirs, because a bound was reached

private:
    friend class CompactHistogram;
    struct State;
    std::unique_ptr<State> state_;
};

/// The pages of one flow, in the pool; the flow counts them to its bound.
struct HistogramOwner {
    std::uint16_t pages = 0;
};

/// A histogram as a flow keeps it: 32 octets and its pages. Trivially copyable; `release` gives the pages back, nothing
/// else does. Recording takes about a dozen instructions where the page was met last time too.
class CompactHistogram {
public:
    void record(HistogramPages& pages, HistogramOwner& owner, std::uint64_t value);
    Histogram unpack(const HistogramPages& pages) const;
    void release(HistogramPages& pages, HistogramOwner& owner);
    std::uint64_t count() const { return count_; }
    std::uint64_t sum() const { return sum_; }
    std::uint64_t min() const { return min_; }
    std::uint64_t max() const { return max_; }

private:
    static constexpr std::uint32_t no_page = 0xffffffff;
    std::uint64_t sum_ = 0;
    std::uint64_t min_ = ~std::uint64_t{0};
    std::uint64_t max_ = 0;
    std::uint64_t count_ = 0;
    std::uint32_t first_page_ = no_page;
    std::uint32_t last_used_page_ = no_page;
};

}  // namespace metrics
