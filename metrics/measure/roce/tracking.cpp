#include "metrics/measure/roce/tracking.h"

#include "metrics/measure/packet/psn.h"
#include "metrics/measure/roce/credit.h"

namespace metrics::inline measure::inline roce {

void Tracking::close_gap(Flow& flow, const GapEnd& end, Situation& situation) {
    situation.now_ns = end.now_ns;
    situation.wire_bytes = end.wire_bytes;
    if (flow.reverse != no_flow) {
        const Flow& reverse = store.table[flow.reverse];
        situation.inbound_ns = reverse.request.message_end_ns;
        // Adapters acknowledge by themselves.
        if (reverse.request.round_trip_min_ns != 0xffffffff)
            situation.sender_distance_ns = reverse.request.round_trip_min_ns;
        if (end.takes_receive) {
            situation.credit_exhausted = lacks_credit(reverse, flow);
            situation.credit_freed_ns = flow.request.credit_freed_ns;
        }
        if (reverse.trouble != Flow::no_block) situation.signal_ns = store.troubles[reverse.trouble].last_cnp_ns;
    }
    situation.unobserved = flow.request.unobserved;
    flow.request.unobserved = false;
    store.close_gap(flow, situation, end.context, end.frame);
    if (flow.trouble != Flow::no_block) store.troubles[flow.trouble].rate.data(end.now_ns, end.wire_bytes);
}

void Tracking::close_gap_in_sequence(Flow& flow, const GapEnd& end, Situation& situation) {
    RequestState& request = flow.request;
    const bool held_back = request.freed_ns > request.last_data_ns && request.last_data_ns != Situation::never;
    close_gap(flow, end, situation);
    // With one message at a time, it is certain which acknowledgement set the packet free.
    if (held_back && end.now_ns >= request.freed_ns && flow.ledger.messages_max() == 1 &&
        flow.attribution.last_state() == State::ack_window)
        psn::keep_least(request.reaction_min_ns, psn::elapsed(request.freed_ns, end.now_ns));
}

FlowIndex Tracking::begin_successor(FlowIndex index, const PacketRecord& record) {
    const FlowKey key = store.table[index].key;
    const std::uint32_t connection = store.table[index].connection;
    const std::uint64_t id = store.table[index].id;
    store.retire(index);
    const FlowIndex fresh = store.obtain(key, record.hash, record.frame, record.time_ns);
    Flow& flow = store.table[fresh];
    flow.drop_epoch = store.drop_epoch;
    flow.connection = connection;
    if (flow.counts.packets == 0) {
        // The packet was counted on the old flow.
        Flow& old = store.table[index];
        if (old.live && old.finished && old.key == key) {
            --old.counts.packets;
            old.counts.wire_bytes -= record.wire_length;
            if (record.crc_bad && old.counts.crc_bad > 0) --old.counts.crc_bad;
        }
        store.observe([&](ObservedFlows& observed) {
            observed.observer.taken_back(id, record.frame);
            observed.packet(flow, fresh, record.frame);
        });
        count(flow, record);
        flow.counts.crc_bad += record.crc_bad;
    }
    return fresh;
}

}  // namespace metrics::measure::roce
