#include "daemon/http/live_figures.h"

#include <algorithm>
#include <limits>

namespace service::http {
namespace {

constexpr std::uint64_t shortest_bin_ns = 1'000'000'000;

/// This class forgets instead of joining bins.
constexpr exporters::report::TimeLine::Bounds no_bounds{.bins = std::numeric_limits<std::size_t>::max(),
                                                        .flow_bins = std::numeric_limits<std::size_t>::max()};

}  // namespace

LiveFigures::LiveFigures(std::uint64_t interval_ns, Bounds bounds)
    : bin_ns_(std::max(interval_ns, shortest_bin_ns)),
      has_short_intervals_(interval_ns < shortest_bin_ns),
      bounds_(bounds),
      now_{.snapshot = std::make_shared<const metrics::Snapshot>()},
      line_(bin_ns_, no_bounds) {}

/// Intervals that last as long as a bin begin at any moment within a bin, and a little earlier or later each time. Each
/// interval gets a bin of its own, unless that bin is more than one away from the nearest.
std::int64_t LiveFigures::bin_of(std::int64_t start_ns) const {
    const auto length = static_cast<std::int64_t>(bin_ns_);
    if (has_short_intervals_) return start_ns / length;
    const std::int64_t nearest = (start_ns + length / 2) / length;
    if (line_.bins().empty()) return nearest;
    const std::int64_t next = line_.last_bin() + 1;
    return nearest >= next - 1 && nearest <= next + 1 ? next : nearest;
}

void LiveFigures::add(const IntervalEnd& interval) {
    const metrics::Snapshot difference = metrics::difference(*now_.snapshot, *interval.snapshot);
    const std::int64_t start_ns = interval.wall_ns - static_cast<std::int64_t>(interval.length_ns);
    last_ = {};
    for (const metrics::FlowSnapshot& flow : difference.flows) last_ += exporters::report::time_figures_of(flow);
    const std::int64_t bin = bin_of(start_ns);
    // The clock was set back: forget() would remove each new bin until the clock is at the last bin again.
    if (bin <= line_.last_bin() - bounds_.bins) line_ = exporters::report::TimeLine(bin_ns_, no_bounds);
    line_.add(bin * static_cast<std::int64_t>(bin_ns_), difference);
    forget();
    now_ = interval;
    ++number_;
}

void LiveFigures::forget() {
    const std::int64_t last = line_.last_bin();
    line_.forget_before(last - bounds_.bins + 1);
    for (std::int64_t kept = bounds_.bins; line_.flow_bins() > bounds_.flow_bins && kept > 1;) {
        kept -= (kept + 7) / 8;
        line_.forget_before(last - kept + 1);
    }
}

}  // namespace service::http
