#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "metrics/figures/snapshot.h"

namespace exporters::report {

/// What happened in a stretch of time, of all flows or of one.
struct TimeFigures {
    std::uint64_t wire_bytes = 0;  ///< of the flows' frames
    std::uint64_t messages = 0;
    std::uint64_t resent = 0;
    std::uint64_t naks = 0;
    std::uint64_t rnr_naks = 0;
    std::uint64_t ce_marks = 0;
    std::uint64_t cnps = 0;

    TimeFigures& operator+=(const TimeFigures& other);
    bool operator==(const TimeFigures&) const = default;
};
TimeFigures time_figures_of(const metrics::FlowSnapshot& flow);

/// One flow in one bin.
struct FlowBin {
    std::int64_t bin = 0;  ///< since 1970, in bins
    TimeFigures figures = {};
    // The times below are of [to_ns - covered_ns, to_ns): from the flow's last packet before the bin to its last in it.
    std::int64_t to_ns = 0;
    std::uint64_t covered_ns = 0;
    double outstanding_mean = 0;                                         ///< messages
    std::vector<std::pair<std::uint8_t, std::uint64_t>> states = {};     ///< metrics::State, ns; ascending, none is 0
    std::vector<std::pair<std::uint8_t, std::uint32_t>> latencies = {};  ///< row of latency_row(), messages
};

/// Latencies fall into rows of a quarter of a power of two: row / 4 is the logarithm of ns to base 2.
std::uint8_t latency_row(std::uint64_t ns);

/// A capture's figures by bins of time, for all flows and for each. Memory is bounded: if there are too many bins, or
/// too many of single flows, neighbouring bins become one and bins are twice as long from then on.
class TimeLine {
public:
    struct Bounds {
        std::size_t bins = 480;  ///< at most this number, and more than half of it once bins were joined
        std::size_t flow_bins = 300'000;
    };
    /// Bins begin at multiples of `bin_ns` since 1970.
    explicit TimeLine(std::uint64_t bin_ns) : TimeLine(bin_ns, Bounds()) {}
    TimeLine(std::uint64_t bin_ns, Bounds bounds) : bin_ns_(bin_ns), bounds_(bounds) {}

    /// What happened in an interval that begins at `start_ns`. Intervals come in the order of time.
    void add(std::int64_t start_ns, const metrics::Snapshot& difference);
    /// Joins neighbouring bins.
    void double_bins();
    /// Removes the bins before this one.
    void forget_before(std::int64_t bin);

    std::uint64_t bin_ns() const { return bin_ns_; }
    std::int64_t first_bin() const { return bins_.empty() ? 0 : bins_.begin()->first; }
    std::int64_t last_bin() const { return bins_.empty() ? 0 : bins_.rbegin()->first; }
    struct Bin {
        TimeFigures figures = {};
        std::uint64_t pauses = 0;  ///< PAUSE and PFC frames that stop a sender
    };
    /// Bins with traffic, by their number since 1970.
    const std::map<std::int64_t, Bin>& bins() const { return bins_; }
    /// By the id of the flow; each ascending.
    const std::map<std::uint64_t, std::vector<FlowBin>>& flows() const { return flows_; }
    /// Bins of single flows, which take most of the memory.
    std::size_t flow_bins() const { return flow_bins_; }

private:
    void add(std::int64_t bin, const metrics::FlowSnapshot& flow);
    bool is_too_large() const;

    std::uint64_t bin_ns_;
    Bounds bounds_;
    std::map<std::int64_t, Bin> bins_ = {};
    std::map<std::uint64_t, std::vector<FlowBin>> flows_ = {};
    std::size_t flow_bins_ = 0;
};

}  // namespace exporters::report
