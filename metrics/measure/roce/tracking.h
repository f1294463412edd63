#pragma once
#include <algorithm>

#include "metrics/measure/flow/flow_store.h"
#include "metrics/measure/flow/vantage.h"
#include "metrics/measure/hosts/reuse.h"
#include "metrics/measure/packet/packet_record.h"
#include "metrics/measure/packet/psn.h"
#include "metrics/measure/roce/gap_end.h"

namespace metrics::inline measure::inline roce {

/// What the trackers of RoCE's packets share: the flows of one engine, and the steps that are the same for every kind
/// of packet.
class Tracking {
public:
    Tracking(FlowStore& flows, ReuseTracker* reuse_tracker) : store(flows), reuse(reuse_tracker) {}

    FlowStore& store;
    ReuseTracker* const reuse;  ///< nullptr if reuse is not followed

    /// Adds the packet to the counts of its flow.
    void count(Flow& flow, const PacketRecord& record);

    /// A data packet ends the gap since the flow's last one: fills in what both directions of the flow know about the
    /// gap, and passes it to the flow's attribution.
    void close_gap(Flow& flow, const GapEnd& end, Situation& situation);
    void close_gap(Flow& flow, const PacketRecord& record, Situation& situation) {
        close_gap(flow, gap_end_of(record), situation);
    }
    /// The same for a packet at the next position, whose sender may have waited for an acknowledgement.
    void close_gap_in_sequence(Flow& flow, const GapEnd& end, Situation& situation);
    void close_gap_in_sequence(Flow& flow, const PacketRecord& record, Situation& situation) {
        close_gap_in_sequence(flow, gap_end_of(record), situation);
    }

    /// Another connection uses the flow's key from this packet on. Returns the flow of that connection; the packet
    /// counts there, and no longer on the old flow.
    FlowIndex begin_successor(FlowIndex index, const PacketRecord& record);
    /// Whether the PSN has jumped so often after a few packets that another jump shows no other connection. A flow for
    /// each jump would let a sender take memory with every packet.
    static bool has_unsteady_psn(const Flow& flow);
    /// A counted packet, whose class is not that of the packet before.
    void note_class(Flow& flow, const PacketRecord& record);
    /// The same flow continues at another PSN: positions only grow, and nothing before them is waited for.
    void go_on_at(Flow& flow, const PacketRecord& record);
};

inline void Tracking::count(Flow& flow, const PacketRecord& record) {
    store.path_windows.note(flow, record.time_ns);
    PacketCounts& counts = flow.counts;
    ++counts.packets;
    counts.wire_bytes += record.wire_length;
    counts.first_ns = std::min(counts.first_ns, record.time_ns);
    counts.last_ns = psn::later(counts.last_ns, record.time_ns);
    const unsigned ecn = record.traffic_class & 3u;
    if (ecn != 0) {
        flow.count_ecn_capable(true);
        if (ecn == 3) {
            flow.count_ce();
            store.show(flow, EventKind::ce_mark, record.frame);
        }
    }
    if (record.direction != wire::Direction::unknown) flow.note_direction(record.direction == wire::Direction::inbound);
    if (counts.packets == 1) {
        if (record.hop_limit != 0) flow.hops = hops_taken(record.hop_limit);
        flow.interface = static_cast<std::uint16_t>(std::min(record.interface, 0xffffu));
        flow.traffic_class = record.traffic_class;
        flow.udp_port = record.udp_port;
        store.paths.set_key(flow, record.path_key);
    }
    if (record.packet_class != store.class_of(flow)) [[unlikely]]
        note_class(flow, record);
    if (record.source_qp != 0xffffffff) flow.source_qp = record.source_qp;
}

}  // namespace metrics::measure::roce
