#pragma once
#include <optional>
#include <string_view>

#include "metrics/figures/snapshot.h"

namespace metrics::inline figures {

/// One set of a flow's latencies and its name. Medians of different sets differ, so output names the set.
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
/// The latencies of all operations. If only one operation has latencies, the set has the name of that operation.
LatencySet all_latencies(const FlowSnapshot& flow);
/// The latencies of one class of operations: those that an acknowledgement alone completes, READs, or atomics; the
/// class with the most messages. The classes wait for different events.
LatencySet alike_latencies(const FlowSnapshot& flow);

}  // namespace metrics::figures
