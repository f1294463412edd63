#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/quantities.h"
#include "metrics/figures/snapshot.h"

namespace exporters {

/// The bytes of each flow over time, in at most `most_cells` cells of equal length. A capture's length is not known
/// before its end: whenever the cells are full, each two become one of twice the length. With more than `most_flows`
/// flows nothing is kept.
class FlowTimeline {
public:
    using Cells = std::vector<std::uint64_t>;
    static constexpr std::size_t most_cells = 64;
    static constexpr std::size_t most_flows = 200;
    static constexpr std::uint64_t least_length_ns = 1'000'000;

    /// Adds an interval: a metrics::difference() that began at `start_ns`. Returns how long the intervals that follow
    /// are to be; 0 if there are too many flows, and no interval is needed any more.
    std::uint64_t add(const metrics::Snapshot& difference, std::int64_t start_ns);
    /// The cells of a flow, from the first cell of all; nullptr if the flow is unknown.
    const Cells* of(std::uint64_t flow) const;
    bool empty() const { return flows_.empty(); }
    std::uint64_t length_ns() const { return length_ns_; }  ///< of a cell

private:
    std::uint64_t since_origin(std::int64_t time_ns) const;
    void double_length();

    std::unordered_map<std::uint64_t, Cells> flows_ = {};  ///< by FlowSnapshot::id
    std::int64_t origin_ns_ = 0;                           ///< when the first cell begins
    std::uint64_t length_ns_ = least_length_ns;
    bool began_ = false;
    bool full_ = false;  ///< there were too many flows
};

/// One character for each cell, or for several if there are more than `width`; the greatest is the highest.
std::string sparkline(const FlowTimeline::Cells& cells, std::size_t width, base::Charset charset = base::charset());

}  // namespace exporters
