#pragma once
#include <cstdint>
#include <tuple>
#include <vector>

#include "metrics/figures/snapshot.h"

namespace metrics::inline figures {

/// What a flow shows of its paths, of two parts of it. Call it before the counters of the flows are added: a flow with
/// one entropy has its figures there.
void merge_path(FlowSnapshot& into, const FlowSnapshot& other);
/// The rest, if the figures of an earlier time are taken out. Call it before the counters are subtracted.
void subtract_path(FlowSnapshot& flow, const FlowSnapshot& earlier);

/// Which of two parts of a capture came first.
enum class PartOrder : std::uint8_t { other_follows, other_precedes, same_time };
/// The same pair of hosts in two parts of a capture.
void merge_windows(PathWindowFigures& into, const PathWindowFigures& other, PartOrder order);
/// The windows of an entropy since `earlier`: the former route's, if routes changed after that, and the present one's.
void subtract_windows(EntropyWindows& row, const EntropyWindows& earlier);
/// Those of `later` with windows or packets since `earlier`. Both are in the order of their pairs.
std::vector<PathWindowFigures> windows_since(const std::vector<PathWindowFigures>& earlier,
                                             const std::vector<PathWindowFigures>& later);
inline auto pair_of(const PathWindowFigures& figures) {
    return std::tuple(figures.source, figures.destination, figures.dscp);
}

/// The DSCP of the flow's packets.
inline std::uint8_t dscp_of(const FlowSnapshot& flow) {
    return flow.packet_class.known() ? flow.packet_class.dscp() : static_cast<std::uint8_t>(flow.traffic_class >> 2);
}
/// The packets of each entropy: those of `path`, or all of the flow's.
std::vector<EntropyFigures> entropies_of(const FlowSnapshot& flow);

}  // namespace metrics::figures
