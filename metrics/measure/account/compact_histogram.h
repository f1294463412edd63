#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "metrics/figures/histogram.h"

namespace metrics::inline measure::inline account {

/// Pages of counters that all histograms of one worker share. A page is a power of two: 64 counters of 8 bits. Grows in
/// slabs up to its bound. Freed pages go to its own free list, not to the system. Not thread-safe.
///
/// A counter that overflows carries into a second page, and the second into a third, so that no count is lost. The
/// bounds do not include such pages: at most two for each page, and none before a bucket has 256 values.
class HistogramPages {
public:
    /// `max_pages` is the bound of the pool (at most 2^23). Each flow may always take `share` pages, and the first page
    /// of each of its histograms even beyond that. More is granted as long as all flows together hold less than half of
    /// their shares plus `reserve`: if there are few flows with wide distributions, alone or among many others.
    explicit HistogramPages(std::size_t max_pages, unsigned share = 28, std::size_t reserve = 0);
    ~HistogramPages();
    HistogramPages(const HistogramPages&) = delete;
    HistogramPages& operator=(const HistogramPages&) = delete;

    std::size_t used() const { return used_ + carries_; }  ///< pages handed out
    std::size_t octets() const;                            ///< memory taken from the system
    /// Values that were counted in a neighbouring bucket because a bound was reached.
    std::uint64_t refused() const { return refused_; }

private:
    friend class CompactHistogram;
    static constexpr unsigned page_bits = 6;
    static constexpr unsigned counter_bits = 8;
    static constexpr unsigned page_counters = 1u << page_bits;
    static constexpr unsigned slab_bits = 8;
    static constexpr std::uint32_t slab_pages = 1u << slab_bits;
    /// A link is a page's number, and above it which power of two it counts.
    static constexpr unsigned number_bits = 24;
    static constexpr std::uint32_t number_mask = (1u << number_bits) - 1;
    static constexpr std::uint32_t no_link = 0xffffffff;

    using Page = std::array<std::uint8_t, page_counters>;
    struct Links {
        std::uint32_t next = no_link;
        std::uint32_t carry = no_link;
    };
    struct Slab {
        alignas(64) std::array<Page, slab_pages> pages;
        std::array<Links, slab_pages> links;
    };
    static_assert(HistogramBuckets::count / page_counters < 0xff, "a link must not look like no_link");

    static constexpr std::uint32_t power_of(std::uint32_t link) { return link >> number_bits; }
    Page& page(std::uint32_t link) {
        const std::uint32_t number = link & number_mask;
        return slabs_[number >> slab_bits]->pages[number % slab_pages];
    }
    const Page& page(std::uint32_t link) const {
        const std::uint32_t number = link & number_mask;
        return slabs_[number >> slab_bits]->pages[number % slab_pages];
    }
    Links& links(std::uint32_t link) {
        const std::uint32_t number = link & number_mask;
        return slabs_[number >> slab_bits]->links[number % slab_pages];
    }
    const Links& links(std::uint32_t link) const {
        const std::uint32_t number = link & number_mask;
        return slabs_[number >> slab_bits]->links[number % slab_pages];
    }
    void count(std::uint32_t link, unsigned counter) {
        if (++page(link)[counter] == 0) [[unlikely]]
            carry(link, counter);
    }
    void carry(std::uint32_t link, unsigned counter);
    std::uint32_t take(std::uint32_t power);
    bool grants(unsigned owned, bool first) const;
    void give(std::uint32_t link);

    std::vector<std::unique_ptr<Slab>> slabs_;
    std::size_t max_pages_;
    unsigned share_;
    std::size_t reserve_;
    std::size_t owners_ = 0;   ///< that hold pages
    std::uint32_t fresh_ = 0;  ///< the first page that was never handed out
    std::uint32_t free_ = no_link;
    std::size_t used_ = 0;
    std::size_t carries_ = 0;
    std::uint64_t refused_ = 0;
};

/// The pages of one flow, in the pool; the flow counts them to its bound.
struct HistogramOwner {
    std::uint16_t pages = 0;
};

/// A histogram as a flow keeps it: 64 bytes and its pages. Trivially copyable, but its pages have one owner: copy to
/// move; only `release` returns the pages. Recording takes about two dozen instructions where values lie within a
/// factor of 256, as most do. Count, sum, least and greatest value are exact always; if a bound denies a page, the
/// value is counted in the nearest bucket of the nearest page.
class alignas(64) CompactHistogram {
public:
    void record(HistogramPages& pages, HistogramOwner& owner, std::uint64_t value) {
        value = std::min(value, HistogramBuckets::max_value);
        const std::uint64_t sum = sum_ + value;
        sum_ = sum < value ? ~std::uint64_t{0} : sum;
        min_ = std::min(min_, value);
        max_ = std::max(max_, value);
        ++count_;
        const unsigned index = HistogramBuckets::index_of(value);
        const unsigned power = index >> HistogramPages::page_bits;
        const std::uint32_t page = pages_[power % pages_.size()];
        if (HistogramPages::power_of(page) == power) [[likely]]
            pages.count(page, index % HistogramPages::page_counters);
        else
            record_elsewhere(pages, owner, index);
    }
    Histogram unpack(const HistogramPages& pages) const;
    void release(HistogramPages& pages, HistogramOwner& owner);
    std::uint64_t count() const { return count_; }
    std::uint64_t sum() const { return sum_; }
    std::uint64_t min() const { return min_; }  ///< 2^64 - 1 if nothing was recorded
    std::uint64_t max() const { return max_; }

private:
    std::uint32_t any_page() const {
        const auto* const found = std::find_if(pages_.begin(), pages_.end(),
                                               [](std::uint32_t link) { return link != HistogramPages::no_link; });
        return found == pages_.end() ? HistogramPages::no_link : *found;
    }
    void record_elsewhere(HistogramPages& pages, HistogramOwner& owner, unsigned index);

    std::uint64_t sum_ = 0;
    std::uint64_t min_ = ~std::uint64_t{0};
    std::uint64_t max_ = 0;
    std::uint64_t count_ = 0;
    /// A cache of pages: the page of a power of two, looked up last, is at the place of that power modulo the size. All
    /// pages of a histogram form a ring.
    std::array<std::uint32_t, 8> pages_{HistogramPages::no_link, HistogramPages::no_link, HistogramPages::no_link,
                                        HistogramPages::no_link, HistogramPages::no_link, HistogramPages::no_link,
                                        HistogramPages::no_link, HistogramPages::no_link};
};
static_assert(sizeof(CompactHistogram) == 64 && std::is_trivially_copyable_v<CompactHistogram>);

}  // namespace metrics::measure::account
