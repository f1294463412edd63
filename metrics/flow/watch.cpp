#include "metrics/flow/watch.h"

namespace metrics {

void Watch::acknowledged(const Flow& flow, std::uint64_t position, std::int64_t now_ns, bool measure) {
    const auto tell = [&](const OutstandingMessage& message) {
        // Of several that were merged the youngest is handed out by itself, with its latency.
        if (message.again || now_ns < message.last_ns) return;
        const std::uint64_t latency_ns =
            static_cast<std::uint64_t>(now_ns) - static_cast<std::uint64_t>(message.last_ns);
        witness.answered(flow.id, message.position, &latency_ns, frame);
    };
    if (measure) flow.ledger.look(position, tell);
    witness.answered(flow.id, position, nullptr, measure ? frame : 0);
}

}  // namespace metrics
