#pragma once
#include "metrics/measure/roce/read_extents.h"
#include "metrics/measure/roce/repeated_requests.h"
#include "metrics/measure/roce/request_holes.h"
#include "metrics/measure/roce/roce_messages.h"
#include "metrics/measure/roce/roce_packet.h"
#include "metrics/measure/roce/tracking.h"

namespace metrics::inline measure::inline roce {

/// What a reliable requester sends again, and what the network delays or doubles.
class RoceRepairs {
public:
    RoceRepairs(Tracking& tracking, RoceMessages& messages, ReadExtents& extents, RequestHoles& holes,
                RepeatedRequests& repeated)
        : tracking_(tracking),
          store_(tracking.store),
          messages_(messages),
          extents_(extents),
          holes_(holes),
          repeated_(repeated) {}

    /// A request at a position that a later packet has passed. Fills in what `situation` says of repeats. Returns false
    /// if no time is to be attributed, since the network alone delayed or doubled the packet.
    bool on_past_request(const RequestPacket& packet, Situation& situation);
    /// Reports the request to the recovery that its flow is in. `late`: the network has delayed or doubled it. Returns
    /// what the sender repeats it for.
    RepeatCause report(const RequestPacket& packet, bool late);
    /// The request at `position` shows whether a packet that filled a hole, and was assumed to be sent again, had only
    /// been late. A sender that goes back begins with the oldest, repeats everything that followed and never returns to
    /// an older one: so the packet was late if an older one follows, or if new data follows what seemed to begin going
    /// back.
    void decide_doubt(Flow& flow, std::uint64_t position);

private:
    bool is_late(const Flow& flow, const FlowTrouble& trouble, const PacketRecord& record, std::uint64_t position,
                 const MissingRanges::Range* hole) const;
    bool has_been_answered(const Flow& flow, std::uint64_t position) const;
    void on_answered_early(const RequestPacket& packet, const Progress& progress, const MissingRanges::Range& hole);
    bool count_loss(Flow& flow, const RequestPacket& packet, RepeatCause cause, bool fills);
    void count_late(Flow& flow, FlowTrouble& trouble, const RequestPacket& packet, const MissingRanges::Range* hole);
    void ask_for_responses(Flow& flow, FlowTrouble& trouble, const RequestPacket& packet, const Progress& progress,
                           bool running);

    Tracking& tracking_;
    FlowStore& store_;
    RoceMessages& messages_;
    ReadExtents& extents_;
    RequestHoles& holes_;
    RepeatedRequests& repeated_;
};

}  // namespace metrics::measure::roce
