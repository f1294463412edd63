#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/quantities.h"
#include "metrics/figures/flow_bytes.h"

namespace exporters {

/// The bytes of each flow over time, in cells of equal length. A capture's length is not known before its end: whenever
/// the cells are full, each two become one of twice the length. A flow has at most `most_cells` cells. The more
/// flows there are, the fewer cells each flow has, so that all flows together have `room` cells at most. But each flow
/// may have `least_cells` for any number of flows.
class FlowTimeline {
public:
    using Cells = std::vector<std::uint64_t>;
    static constexpr std::size_t most_cells = 64;
    static constexpr std::size_t least_cells = 8;
    static constexpr std::size_t usual_room = std::size_t{1} << 20;  ///< 8 MiB
    static constexpr std::uint64_t least_length_ns = 1'000'000;

    FlowTimeline() : FlowTimeline(usual_room) {}
    explicit FlowTimeline(std::size_t room) : room_(room) {}

    /// Adds an interval that began at `start_ns`. `flows` are all flows that are remembered, with their bytes since the
    /// beginning of the capture. Returns the length of the next interval.
    std::uint64_t add(std::span<const metrics::FlowBytes> flows, std::int64_t start_ns);
    /// The cells of a flow, from the first cell of all; nullptr if the flow is unknown.
    const Cells* of(std::uint64_t flow) const;
    bool empty() const { return flows_.empty(); }
    std::uint64_t length_ns() const { return length_ns_; }  ///< of a cell

private:
    struct Line {
        std::uint64_t bytes = 0;  ///< at the last add()
        std::uint64_t round = 0;  ///< the last add() with this flow
        Cells cells = {};
    };
    std::size_t cells_of_flow() const;
    std::uint64_t since_origin(std::int64_t time_ns) const;
    void double_length();

    std::size_t room_;
    std::unordered_map<std::uint64_t, Line> flows_ = {};  ///< by FlowSnapshot::id
    std::int64_t origin_ns_ = 0;                          ///< when the first cell begins
    std::uint64_t length_ns_ = least_length_ns;
    std::size_t places_ = 0;    ///< cells from the first to the latest
    std::uint64_t rounds_ = 0;  ///< calls of add()
};

/// One character for each cell, or for several if there are more than `width`; the greatest is the highest.
std::string sparkline(const FlowTimeline::Cells& cells, std::size_t width, base::Charset charset = base::charset());

}  // namespace exporters
