#include "metrics/measure/account/compact_histogram.h"

namespace metrics::inline measure::inline account {

HistogramPages::HistogramPages(std::size_t max_pages, unsigned share, std::size_t reserve)
    : max_pages_(std::min(max_pages, std::size_t{1} << (number_bits - 1))),
      share_(std::min<unsigned>(share, UINT16_MAX / 2)),
      reserve_(reserve) {}

HistogramPages::~HistogramPages() = default;

std::size_t HistogramPages::octets() const {
    return slabs_.size() * sizeof(Slab) + slabs_.capacity() * sizeof(std::unique_ptr<Slab>);
}

std::uint32_t HistogramPages::take(std::uint32_t power) {
    std::uint32_t number = free_;
    if (number != no_link) {
        free_ = links(number).next;
    } else {
        if (fresh_ == slabs_.size() * slab_pages) slabs_.push_back(std::make_unique<Slab>());
        number = fresh_++;
    }
    page(number).fill(0);
    links(number) = {};
    return power << number_bits | number;
}

void HistogramPages::give(std::uint32_t link) {
    const std::uint32_t number = link & number_mask;
    links(number).next = free_;
    free_ = number;
}

void HistogramPages::carry(std::uint32_t link, unsigned counter) {
    std::uint32_t above = links(link).carry;
    if (above == no_link) {
        above = take(power_of(link));
        ++carries_;
        links(link).carry = above;
    }
    count(above, counter);
}

/// Of a flow that holds `owned` pages, for a histogram that has others or (`first`) none: one distribution must not
/// starve the others.
bool HistogramPages::grants(unsigned owned, bool first) const {
    if (used_ >= max_pages_ || owned == UINT16_MAX) return false;
    return first || owned < share_ || used_ < reserve_ + owners_ * (share_ / 2);
}

void CompactHistogram::record_elsewhere(HistogramPages& pages, HistogramOwner& owner, unsigned index) {
    constexpr std::uint32_t none = HistogramPages::no_link;
    const std::uint32_t known = any_page();
    const std::uint32_t power = index >> HistogramPages::page_bits;
    const unsigned counter = index % HistogramPages::page_counters;
    if (known != none) {
        std::uint32_t at = known;
        do {
            if (HistogramPages::power_of(at) == power) {
                pages_[power % pages_.size()] = at;
                pages.count(at, counter);
                return;
            }
            at = pages.links(at).next;
        } while (at != known);
    }
    if (pages.grants(owner.pages, known == none)) {
        const std::uint32_t fresh = pages.take(power);
        if (known == none) {
            pages.links(fresh).next = fresh;
        } else {
            pages.links(fresh).next = pages.links(known).next;
            pages.links(known).next = fresh;
        }
        pages_[power % pages_.size()] = fresh;
        ++pages.used_;
        if (++owner.pages == 1) ++pages.owners_;
        pages.count(fresh, counter);
        return;
    }
    ++pages.refused_;
    if (known == none) return;  // unpack() puts what no page holds where the mean is
    const auto distance = [&](std::uint32_t link) {
        const unsigned first = HistogramPages::power_of(link) * HistogramPages::page_counters;
        // Twice the way to the page's nearest bucket; the one below counts as farther, so that no two are the same.
        return index < first ? (first - index) * 2 : (index - first - (HistogramPages::page_counters - 1)) * 2 + 1;
    };
    std::uint32_t nearest = known;
    for (std::uint32_t at = pages.links(known).next; at != known; at = pages.links(at).next)
        if (distance(at) < distance(nearest)) nearest = at;
    pages.count(nearest, HistogramPages::power_of(nearest) < power ? HistogramPages::page_counters - 1 : 0);
}

Histogram CompactHistogram::unpack(const HistogramPages& pages) const {
    Histogram full;
    if (count_ == 0) return full;
    std::array<std::uint32_t, HistogramBuckets::count / HistogramPages::page_counters> by_power;
    by_power.fill(HistogramPages::no_link);
    if (const std::uint32_t first = any_page(); first != HistogramPages::no_link) {
        std::uint32_t at = first;
        do {
            by_power[HistogramPages::power_of(at)] = at;
            at = pages.links(at).next;
        } while (at != first);
    }

    for (std::size_t power = 0; power < by_power.size(); ++power) {
        if (by_power[power] == HistogramPages::no_link) continue;
        for (unsigned counter = 0; counter < HistogramPages::page_counters; ++counter) {
            std::uint64_t times = 0;
            unsigned shift = 0;
            for (std::uint32_t at = by_power[power]; at != HistogramPages::no_link && shift < 64;
                 at = pages.links(at).carry) {
                times += std::uint64_t{pages.page(at)[counter]} << shift;
                shift += HistogramPages::counter_bits;
            }
            full.add_bucket(static_cast<unsigned>(power) * HistogramPages::page_counters + counter, times);
        }
    }
    if (full.count() < count_) full.add_bucket(HistogramBuckets::index_of(sum_ / count_), count_ - full.count());
    full.set_exact(sum_, min_, max_);
    return full;
}

void CompactHistogram::release(HistogramPages& pages, HistogramOwner& owner) {
    const std::uint32_t first = any_page();
    std::uint32_t at = first;
    while (at != HistogramPages::no_link) {
        const std::uint32_t next = pages.links(at).next == first ? HistogramPages::no_link : pages.links(at).next;
        for (std::uint32_t above = pages.links(at).carry; above != HistogramPages::no_link;) {
            const std::uint32_t higher = pages.links(above).carry;
            pages.give(above);
            --pages.carries_;
            above = higher;
        }
        pages.give(at);
        --pages.used_;
        if (--owner.pages == 0) --pages.owners_;
        at = next;
    }
    *this = {};
}

}  // namespace metrics::measure::account
