#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace metrics::inline measure::inline hosts {

/// How many distinct keys were used in each window of time, for a bounded number of windows: when there are more,
/// neighbours share a place, which keeps the greater figure.
class WorkingSet {
public:
    /// One more distinct key in the window of this number.
    void touch(std::uint64_t window) {
        if (counts_.empty()) {
            first_ = window;
            current_ = window;
        }
        if (window != current_) {
            current_ = window;
            in_current_ = 0;
        }
        ++in_current_;
        std::uint32_t& count = place(std::max(window, first_ << shift_));
        count = std::max(count, in_current_);
    }
    /// Adds what others have used at the same time.
    void add(const WorkingSet& other) {
        if (other.counts_.empty()) return;
        if (counts_.empty()) {
            *this = other;
            return;
        }
        WorkingSet theirs = other;
        const auto last = [](const WorkingSet& set) { return set.first_ + set.counts_.size() - 1; };
        while (shift_ < theirs.shift_) coarsen();
        while (theirs.shift_ < shift_) theirs.coarsen();
        while (std::max(last(*this), last(theirs)) - std::min(first_, theirs.first_) >= most_places) {
            coarsen();
            theirs.coarsen();
        }
        if (theirs.first_ < first_) {
            counts_.insert(counts_.begin(), static_cast<std::size_t>(first_ - theirs.first_), 0);
            first_ = theirs.first_;
        }
        const auto offset = static_cast<std::size_t>(theirs.first_ - first_);
        if (counts_.size() < offset + theirs.counts_.size()) counts_.resize(offset + theirs.counts_.size());
        for (std::size_t i = 0; i < theirs.counts_.size(); ++i) counts_[offset + i] += theirs.counts_[i];
    }
    std::uint32_t max() const { return counts_.empty() ? 0 : *std::max_element(counts_.begin(), counts_.end()); }
    /// Over the windows in which there was any.
    double mean() const {
        std::uint64_t sum = 0;
        std::uint64_t used = 0;
        for (const std::uint32_t count : counts_) {
            sum += count;
            used += count != 0;
        }
        return used == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(used);
    }
    std::size_t octets() const { return counts_.capacity() * sizeof(std::uint32_t); }

private:
    static constexpr std::size_t most_places = 1024;

    std::uint32_t& place(std::uint64_t window) {
        while ((window >> shift_) - first_ >= most_places) coarsen();
        const auto index = static_cast<std::size_t>((window >> shift_) - first_);
        if (index >= counts_.size()) counts_.resize(index + 1);
        return counts_[index];
    }
    void coarsen() {
        const std::uint64_t first = first_ >> 1;
        std::size_t last = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            const auto to = static_cast<std::size_t>(((first_ + i) >> 1) - first);
            const std::uint32_t count = counts_[i];
            counts_[to] = to == last && i != 0 ? std::max(counts_[to], count) : count;
            last = to;
        }
        counts_.resize(counts_.empty() ? 0 : last + 1);
        first_ = first;
        ++shift_;
    }

    std::vector<std::uint32_t> counts_;
    std::uint64_t first_ = 0;  ///< window of the first place, shifted
    std::uint64_t current_ = 0;
    std::uint32_t in_current_ = 0;
    unsigned shift_ = 0;
};

}  // namespace metrics::measure::hosts
