#include "metrics/measure/roce/roce_tracker.h"

#include "metrics/measure/packet/psn.h"

namespace metrics::inline measure::inline roce {

void RoceTracker::on_packet(const PacketRecord& record) {
    FlowStore& store = tracking_.store;
    Flow& flow = store.table[record.flow];
    const RocePacket packet{record, wire::bth_opcode(record.opcode), record.flow};
    store.observe([&](ObservedFlows& observed) { observed.packet(flow, record.flow, record.frame); });
    tracking_.count(flow, record);
    if (record.crc_bad && is_left_out(packet)) [[unlikely]]
        return on_damaged(packet);
    if (packet.opcode.role == wire::BthRole::request) store.note_udp_port(flow, record.udp_port);
    if (packet.opcode.role == wire::BthRole::request || packet.opcode.role == wire::BthRole::response) {
        store.note_path(flow, record.path_key, {1, record.wire_length, (record.traffic_class & 3u) == 3 ? 1u : 0u});
        store.path_windows.join(flow, record.packet_class.dscp());
    }
    switch (packet.opcode.role) {
        case wire::BthRole::request:
            if (flow.key.service == Service::rc || flow.key.service == Service::xrc)
                requests_.on_request(packet);
            else
                unreliable_.on_request(packet);
            break;
        case wire::BthRole::response: responses_.on_response(packet); break;
        case wire::BthRole::acknowledgement: answers_.on_acknowledgement(packet); break;
        case wire::BthRole::notification: answers_.on_notification(packet); break;
    }
}

/// Counts the packet, whose ICRC is bad. The receiver drops a damaged packet, and nothing in it can be trusted. But the
/// ICRC says nothing about the packet if it was not filled in yet, if it was right on no packet of the flow (the
/// addresses were rewritten, or a device on the way computes none), or if the receiver has accepted packets with bad
/// ones.
bool RoceTracker::is_left_out(const RocePacket& packet) {
    constexpr std::uint32_t taken_that_decide = 2;
    FlowStore& store = tracking_.store;
    Flow& flow = store.table[packet.flow];
    ++flow.counts.crc_bad;
    store.show(flow, EventKind::icrc_bad, packet.record.frame);
    if (packet.record.crc_zero) {
        if (flow.counts.crc_bad == 1) flow.only_zero_crcs = true;
        if (!flow.only_zero_crcs) ++store.trouble(flow).crc_zero;
        return false;
    }
    if (flow.only_zero_crcs) {
        flow.only_zero_crcs = false;
        store.trouble(flow).crc_zero = flow.counts.crc_bad - 1;
    }
    if (flow.counts.crc_bad == flow.counts.packets) return false;
    if (flow.trouble == Flow::no_block || store.troubles[flow.trouble].crc_taken < taken_that_decide) return true;
    ++store.troubles[flow.trouble].crc_taken;
    return false;
}

void RoceTracker::on_damaged(const RocePacket& packet) {
    FlowStore& store = tracking_.store;
    Flow& flow = store.table[packet.flow];
    if (packet.opcode.role != wire::BthRole::request || flow.request.next == 0) return;
    // The hole that it leaves is no loss before the tap.
    FlowTrouble& trouble = store.trouble(flow);
    const std::uint64_t position = psn::position_of(packet.record.psn, flow.request.next);
    if (position < flow.request.next) ++flow.request.repeated;
    trouble.damaged[trouble.damaged_next] = position;
    trouble.damaged_next = static_cast<std::uint8_t>((trouble.damaged_next + 1u) % trouble.damaged.size());
}

}  // namespace metrics::measure::roce
