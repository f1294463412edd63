#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "exporters/report/time_line.h"
#include "metrics/figures/snapshot.h"

namespace service::http {

/// Figures at the end of an interval.
struct IntervalEnd {
    std::shared_ptr<const metrics::Snapshot> snapshot;  ///< since the daemon began
    std::int64_t wall_ns = 0;
    std::uint64_t length_ns = 0;
};

/// The present figures, and the last few minutes over time. Memory is bounded: the oldest minutes are removed first.
/// Used by one thread.
class LiveFigures {
public:
    struct Bounds {
        std::int64_t bins = 300;
        std::size_t flow_bins = 60'000;
    };
    /// Bins last as long as an interval, and a second at least.
    explicit LiveFigures(std::uint64_t interval_ns) : LiveFigures(interval_ns, Bounds()) {}
    LiveFigures(std::uint64_t interval_ns, Bounds bounds);

    /// Intervals come in the order of time.
    void add(const IntervalEnd& interval);

    /// How many intervals were added.
    std::uint64_t number() const { return number_; }
    /// The last interval; its snapshot is never null.
    const IntervalEnd& now() const { return now_; }
    const exporters::report::TimeLine& line() const { return line_; }
    /// What happened in the last interval.
    const exporters::report::TimeFigures& last() const { return last_; }

private:
    std::int64_t bin_of(std::int64_t start_ns) const;
    void forget();

    std::uint64_t bin_ns_;
    bool has_short_intervals_;
    Bounds bounds_;
    std::uint64_t number_ = 0;
    IntervalEnd now_;
    exporters::report::TimeLine line_;
    exporters::report::TimeFigures last_;
};

}  // namespace service::http
