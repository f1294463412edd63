#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "metrics/figures/path_figures.h"
#include "metrics/measure/account/compact_histogram.h"
#include "metrics/measure/flow/flow_paths.h"
#include "metrics/measure/flow/flow_table.h"
#include "metrics/measure/flow/slab.h"

namespace metrics::inline measure::inline flow {

/// Compares the entropies between two hosts in short windows of time: which one has more marks or longer round trips
/// than the others at the same moment. Flows of a pair of hosts take part from the second flow on, as long as they keep
/// their entropy; there is room for PathFigures::most_rows entropies of a pair, and for most_members flows of each. If
/// there is no room, an entropy that no flow has any more makes room.
///
/// A flow's packets are not counted again. A window takes what the flow's counts grew by, so that a packet costs a
/// comparison, and the first one in a window a little more.
class PathWindows {
public:
    PathWindows(FlowPaths& paths, std::size_t max_flows);

    /// A packet of the flow at this time will be counted.
    void note(Flow& flow, std::int64_t now_ns) {
        if (flow.path != FlowPaths::none && window_of(now_ns) != flow.path_window) [[unlikely]]
            begin_window(flow, window_of(now_ns));
    }
    /// A message of the flow was answered.
    void note_round_trip(const Flow& flow, std::uint64_t ns) {
        if (flow.path != FlowPaths::none) add_round_trip(flow, ns);
    }
    /// Packets of the flow were lost together.
    void note_loss(const Flow& flow, std::int64_t now_ns) {
        if (flow.path != FlowPaths::none) add_loss(flow, now_ns);
    }
    /// What was counted as the last loss of the flow came late: it was not lost.
    void take_back_loss(const Flow& flow);
    /// A packet of the flow, counted already, has another hop limit than the one before: it takes another route.
    void note_hop_limit(const Flow& flow);
    /// The flow has had a data packet with this DSCP.
    void join(Flow& flow, std::uint8_t dscp) {
        if (flow.path_dscp == Flow::no_dscp) [[unlikely]]
            begin(flow, dscp);
    }
    /// The flow uses several entropies from now on: its packets are no longer those of one path.
    void exclude(Flow& flow);
    /// The flow's place will be another's.
    void leave(Flow& flow);

    /// Ends all windows under way. Call it before describe().
    void close();
    void describe(std::vector<PathWindowFigures>& out) const;
    std::size_t octets() const;

    /// 2^20 ns, about 1 ms.
    static std::uint32_t window_of(std::int64_t now_ns) {
        return static_cast<std::uint32_t>(static_cast<std::uint64_t>(now_ns) >> window_bits);
    }

private:
    static constexpr unsigned window_bits = 20;
    /// 2^27 ns, about 0.13 s.
    static constexpr unsigned interval_windows_bits = 7;
    static constexpr std::uint64_t least_packets = 4;
    static constexpr std::uint8_t most_members = 16;
    static constexpr std::uint32_t none = 0xffffffff;

    /// An entropy of a pair.
    struct Row {
        Entropy entropy;
        std::uint64_t interval_bytes = 0;
        std::uint8_t members = 0;   ///< flows that take part
        std::uint32_t packets = 0;  ///< of the window
        std::uint32_t ce = 0;
        std::uint32_t sampled = 0;  ///< round trips of the window; the first ones are kept
        std::array<std::uint32_t, 7> round_trips_ns{};
        std::uint32_t marks_more = 0;
        std::uint32_t marks_less = 0;
        std::uint32_t delays_more = 0;
        std::uint32_t delays_less = 0;
        HistogramOwner owner;
        CompactHistogram longer_ns;
        LossTimes losses;  ///< without the packets of the window
        LossTimes losses_before;
        std::uint64_t packets_at_loss = 0;
        std::int64_t rerouted_ns = 0;
    };
    struct Pair {
        FlowKey key;  ///< the addresses, and the DSCP as selector
        std::uint32_t flows = 0;
        Flow* first = nullptr;  ///< the only flow, which does not take part yet
        std::uint32_t window = 0;
        std::uint32_t active = none;  ///< the last member that became active in the window
        std::vector<Row> rows;
        HistogramOwner owner;
        CompactHistogram max_over_mean;
        std::int64_t change_ns = 0;       ///< when a hop limit changed last
        std::uint32_t change_window = 0;  ///< of it
        std::uint8_t change_row = 0;      ///< the first one whose hop limit changed then
        bool is_rerouted = false;         ///< those of several have
        bool is_compared = false;         ///< the window under way, in part: what follows is only counted
    };

    void begin(Flow& flow, std::uint8_t dscp);
    std::uint32_t pair_with(const FlowKey& key);
    std::uint8_t row_with(Pair& pair, Entropy entropy);
    void add_member(Flow& flow, std::uint32_t pair);
    void begin_window(Flow& flow, std::uint32_t window);
    void add_round_trip(const Flow& flow, std::uint64_t ns);
    void add_loss(const Flow& flow, std::int64_t now_ns);
    Row* row_of(const Flow& flow);
    std::uint64_t packets_under_way(const Flow& flow) const;
    void restart(Row& row, std::int64_t changed_ns);
    void end_window(Pair& pair);
    void close(Pair& pair);
    static void compare_marks(Pair& pair, std::uint64_t packets, std::uint64_t ce);
    void compare_delays(Pair& pair, std::uint64_t packets);
    void end_interval(Pair& pair);
    void remove_member(Flow& flow);

    FlowPaths& paths_;
    std::size_t max_pairs_;
    std::size_t rows_left_;
    std::size_t members_left_;
    std::unordered_map<FlowKey, std::uint32_t, FlowKeyHash> by_key_;
    Slab<Pair> pairs_;
    HistogramPages pages_;
};

}  // namespace metrics::measure::flow
