#include "metrics/figures/latencies.h"

#include <algorithm>
#include <array>

namespace metrics::inline figures {

namespace {

/// Of the operations that `is_meant` chooses.
template <class Chooser>
LatencySet latencies_where(const FlowSnapshot& flow, std::string_view of, const Chooser& is_meant) {
    LatencySet set{{}, of};
    std::size_t kinds = 0;
    std::string_view only;
    for (std::size_t i = 0; i < operation_count; ++i) {
        const auto operation = static_cast<Operation>(i);
        const Histogram& latency = flow.operations[i].latency_ns;
        if (latency.empty() || !is_meant(operation)) continue;
        set.ns.merge(latency);
        ++kinds;
        only = plural_of(operation);
    }
    if (kinds == 1) set.of = only;
    return set;
}

}  // namespace

std::string_view plural_of(Operation operation) {
    switch (operation) {
        case Operation::send: return "Sends";
        case Operation::send_immediate: return "Sends with Immediate";
        case Operation::send_invalidate: return "Sends with Invalidate";
        case Operation::write: return "WRITEs";
        case Operation::write_immediate: return "WRITEs with Immediate";
        case Operation::read: return "READs";
        case Operation::fetch_add: return "FetchAdds";
        case Operation::compare_swap: return "CmpSwaps";
    }
    return "messages";
}

std::optional<Operation> main_operation(const FlowSnapshot& flow) {
    const auto most = std::max_element(flow.operations.begin(), flow.operations.end(),
                                       [](const auto& a, const auto& b) { return a.count < b.count; });
    if (most->count == 0) return {};
    return static_cast<Operation>(most - flow.operations.begin());
}

LatencySet main_latencies(const FlowSnapshot& flow) {
    const auto operation = main_operation(flow);
    if (!operation) return {{}, "messages"};
    return {flow.operations[index_of(*operation)].latency_ns, plural_of(*operation)};
}

LatencySet all_latencies(const FlowSnapshot& flow) {
    return latencies_where(flow, "all operations", [](Operation) { return true; });
}

LatencySet alike_latencies(const FlowSnapshot& flow) {
    std::array<LatencySet, 3> kinds{
        latencies_where(flow, "messages that are acknowledged",
                        [](Operation operation) { return !wants_response(operation); }),
        latencies_where(flow, "READs", [](Operation operation) { return operation == Operation::read; }),
        latencies_where(flow, "atomics",
                        [](Operation operation) { return wants_response(operation) && operation != Operation::read; })};
    return *std::max_element(kinds.begin(), kinds.end(), [](const LatencySet& one, const LatencySet& other) {
        return one.ns.count() < other.ns.count();
    });
}

}  // namespace metrics::figures
