#include "metrics/measure/flow/observed_flows.h"

namespace metrics::inline measure::inline flow {

void ObservedFlows::acknowledged(const Flow& flow, std::uint64_t position, std::int64_t now_ns, bool measure) {
    const auto report = [&](const OutstandingMessage& message) {
        // Of several that were merged the youngest is handed out by itself, with its latency.
        if (message.again || now_ns < message.last_ns) return;
        const std::uint64_t latency_ns =
            static_cast<std::uint64_t>(now_ns) - static_cast<std::uint64_t>(message.last_ns);
        observer.answered(flow.id, message.position, &latency_ns, frame);
    };
    if (measure) flow.ledger.look(position, report);
    observer.answered(flow.id, position, nullptr, measure ? frame : 0);
}

void ObservedFlows::leave(const Flow& flow, FlowIndex index) {
    give_up(flow);
    signals_.erase(flow.id);
    const auto found = by_id.find(flow.id);
    if (found != by_id.end() && found->second == index) by_id.erase(found);
    observer.left(flow.id);
}

}  // namespace metrics::measure::flow
