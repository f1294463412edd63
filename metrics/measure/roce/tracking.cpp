#include "metrics/measure/roce/tracking.h"

#include <algorithm>

#include "metrics/measure/packet/psn.h"
#include "metrics/measure/roce/credit.h"
#include "wire/bth_opcode.h"

namespace metrics::inline measure::inline roce {

/// Adapters send CNPs in a class of their own. Damage changes no header of the network that a switch did not check.
void Tracking::note_class(Flow& flow, const PacketRecord& record) {
    if (wire::bth_opcode(record.opcode).role == wire::BthRole::notification) return;
    const PacketClass before = store.class_of(flow);
    PacketClass packet_class = record.packet_class;
    if (record.crc_bad && before.known()) packet_class = packet_class.with_partition_of(before);
    if (packet_class == before) return;
    store.note_class(flow, {packet_class, record.traffic_class, record.frame, record.time_ns, record.wire_length});
}

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

namespace {

/// A connection has more packets than that, or a queue pair with the same number ends so soon a few times only.
constexpr std::uint64_t short_life_packets = 4;
constexpr std::uint8_t most_short_lives = 8;

std::uint8_t short_lives_after(const Flow& flow) {
    // The packet that ends the life is counted in it.
    const bool is_short = flow.counts.packets <= short_life_packets + 1;
    return is_short ? static_cast<std::uint8_t>(std::min(flow.short_lives + 1, most_short_lives + 1)) : std::uint8_t{0};
}

/// All that names positions of requests that nothing will answer.
void forget_positions(FlowTrouble& trouble) {
    trouble.missing = {};
    trouble.pieces = {};
    trouble.damaged = {};
    trouble.damaged_next = 0;
    trouble.response_gap_ns = Situation::never;
    trouble.asked_begin = 0;
    trouble.asked_end = 0;
    trouble.asked_ns = Situation::never;
    trouble.doubtful = 0;
    trouble.doubtful_timeout = false;
    trouble.recovery = {};
    trouble.repeated = {};
    trouble.losses.last_position = 0;
    trouble.holes.forget_positions();
}

}  // namespace

bool Tracking::has_unsteady_psn(const Flow& flow) { return flow.short_lives >= most_short_lives; }

void Tracking::go_on_at(Flow& flow, const PacketRecord& record) {
    RequestState& request = flow.request;
    flow.ledger.clear(store.rings, flow.counts.last_ns);
    store.observe([&](ObservedFlows& observed) { observed.give_up(flow); });
    if (flow.trouble != Flow::no_block) forget_positions(store.troubles[flow.trouble]);
    request.next += (record.psn - static_cast<std::uint32_t>(request.next)) & psn::mask;
    request.acknowledged = request.next;
    request.message_bytes = 0;
    request.message_length = 0;
    request.message_packets = 0;
    request.message_counted = 0;
    request.reuse_position = 0;
    request.read_slack = 0;
    request.in_message = false;
    request.recovering = false;
    request.message_whole = false;
    request.lacking = false;
    request.lacks_responses = false;
    request.read_guessed = false;
    request.read_reth_cut = false;
}

FlowIndex Tracking::begin_successor(FlowIndex index, const PacketRecord& record) {
    const FlowKey key = store.table[index].key;
    const std::uint32_t connection = store.table[index].connection;
    const std::uint64_t id = store.table[index].id;
    const std::uint8_t short_lives = short_lives_after(store.table[index]);
    store.retire(index);
    const FlowIndex fresh = store.obtain(key, record.hash, record.frame, record.time_ns);
    Flow& flow = store.table[fresh];
    flow.drop_epoch = store.drop_epoch;
    flow.connection = connection;
    flow.short_lives = short_lives & 15u;
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
        store.path_windows.join(flow, record.packet_class.dscp());
        flow.counts.crc_bad += record.crc_bad;
    }
    return fresh;
}

}  // namespace metrics::measure::roce
