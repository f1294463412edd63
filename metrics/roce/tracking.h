#pragma once
#include "metrics/flow/flow_store.h"
#include "metrics/hosts/reuse.h"
#include "metrics/roce/gap_end.h"
#include "metrics/roce/packet_record.h"

namespace metrics {

/// What the trackers of RoCE's packets share: the flows of one engine, and the steps that are the same for every kind
/// of packet.
class Tracking {
public:
    Tracking(FlowStore& flows, ReuseTracker* reuse_tracker) : store(flows), reuse(reuse_tracker) {}

    FlowStore& store;
    ReuseTracker* const reuse;  ///< nullptr if reuse is not followed

    /// Adds the packet to the counts of its flow.
    void count(Flow& flow, const PacketRecord& record);

    /// A data packet ends the gap since the flow's last one: fills in what both directions of the flow know of the gap,
    /// and hands it to the flow's attribution.
    void close_gap(Flow& flow, const GapEnd& end, Situation& situation);
    void close_gap(Flow& flow, const PacketRecord& record, Situation& situation);
    /// The same for a packet at the next position, whose sender may have waited for an acknowledgement.
    void close_gap_in_sequence(Flow& flow, const GapEnd& end, Situation& situation);
    void close_gap_in_sequence(Flow& flow, const PacketRecord& record, Situation& situation);

    /// Another connection uses the flow's key from this packet on. Returns the flow of that connection; the packet
    /// counts there, and no longer on the old flow.
    FlowIndex begin_successor(FlowIndex index, const PacketRecord& record);
};

}  // namespace metrics
