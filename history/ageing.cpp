#include "history/ageing.h"

#include <algorithm>
#include <limits>

namespace history {

namespace {
constexpr std::uint64_t hour_ns = std::uint64_t{3600} * 1'000'000'000;
constexpr std::size_t most_intervals = 8192;
}  // namespace

void Ageing::add(std::int64_t start_ns, std::uint64_t length_ns, std::uint64_t max_age_ns) {
    length_ns = std::min(length_ns, hour_ns);
    lately_.push_back({start_ns, length_ns});
    covered_ns_ += length_ns;
    const std::uint64_t enough = std::min(hour_ns, max_age_ns / 8);
    while (lately_.size() > 1 &&
           (covered_ns_ - lately_.front().length_ns >= enough || lately_.size() > most_intervals)) {
        covered_ns_ -= lately_.front().length_ns;
        lately_.pop_front();
    }
}

std::int64_t Ageing::now_ns() const {
    if (lately_.empty()) return std::numeric_limits<std::int64_t>::min();
    return std::min_element(lately_.begin(), lately_.end(),
                            [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; })
        ->start_ns;
}

}  // namespace history
