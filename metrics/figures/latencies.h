#pragma once
#include <optional>
#include <string_view>

#include "metrics/figures/snapshot.h"

namespace metrics::inline figures {

/// One set of a flow's latencies, with the words for it: medians of different sets differ, so each place that shows one
/// says which set it is of.
struct LatencySet {
    Histogram ns;
    std::string_view of;  ///< "WRITEs", "all operations"
};

/// "Sends", "WRITEs", "READs"; constant.
std::string_view plural_of(Operation operation);

/// The most frequent operation of a flow; of several, the first. No value if the flow has no messages.
std::optional<Operation> main_operation(const FlowSnapshot& flow);
/// The latencies that `flows`, `top` and `replay --compare` show: of main_operation(). Empty if absent.
LatencySet main_latencies(const FlowSnapshot& flow);
/// Of all operations. Where one alone has latencies, the set has its name.
LatencySet all_latencies(const FlowSnapshot& flow);
/// Of the operations that answers acknowledge alone, or of READs, or of atomics: whichever has the most. Those wait for
/// different things.
LatencySet alike_latencies(const FlowSnapshot& flow);

}  // namespace metrics::figures
