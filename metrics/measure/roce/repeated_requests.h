#pragma once
#include "metrics/measure/account/attribution.h"
#include "metrics/measure/flow/flow_store.h"
#include "metrics/measure/roce/roce_packet.h"

namespace metrics::inline measure::inline roce {

/// Follows the oldest request that is not acknowledged: how often its sender sends it again, and whether the responder
/// refuses it. Its state at the end of a flow shows whether the sender gave up.
class RepeatedRequests {
public:
    explicit RepeatedRequests(FlowStore& store) : store_(store) {}

    /// A run of repeats begins with the packet; its message is not marked as sent again yet.
    void repeat(Flow& flow, const RequestPacket& packet, RepeatCause cause);
    /// The packet has passed before, whatever the reason.
    void pass_again(Flow& flow, const RequestPacket& packet);
    /// An RNR NAK refuses the packet at `position`.
    void refuse(Flow& flow, std::uint64_t position, std::uint64_t timer_ns, const PacketRecord& nak);
    /// A NAK that ends the queue pair refuses it.
    void end(Flow& flow, std::uint64_t position);

private:
    void begin(Flow& flow, RepeatedRequest& repeated, std::uint64_t position);

    FlowStore& store_;
};

/// RepeatedRequest as it is shown; without value if it was acknowledged.
std::optional<RetryFigures> retries_of(const Flow& flow, const FlowTrouble& trouble, const Histogram& message_bytes);
std::optional<RepeatAnswerFigures> repeat_answers_of(const FlowTrouble& trouble, const FlowStore& store);

}  // namespace metrics::measure::roce
