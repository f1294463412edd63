// What a witness is told of requests, beyond what figures need: which frames a message took.
#include "metrics/roce/progress.h"
#include "metrics/roce/roce_tracker.h"

namespace metrics {

void RoceTracker::watch_packet(FlowIndex index, std::uint64_t frame) {
    store_.watch->packet(store_.table[index], index, frame);
}

/// A packet that may begin to repair a loss; `repair` says what is known of times, and of its hole.
void RoceTracker::watch_repair(const Flow& flow, const Recovery& recovery, std::uint64_t frame, RepeatCause cause,
                               Repair& repair) {
    if (cause == RepeatCause::none) return;
    Watch::Signals& signals = store_.watch->signals(flow);
    if (cause == RepeatCause::timeout) {
        repair.cause = RepairCause::timeout;
    } else if (recovery.implied()) {
        repair.cause = RepairCause::missing_response;
        repair.first_out_of_sequence_frame = signals.response_frame;
    } else {
        repair.cause = RepairCause::nak;
        repair.first_out_of_sequence_frame = signals.nak_past_hole_frame;
        signals.put_nak(repair);
    }
    // A receiver that was not ready has lost nothing.
    if (cause != RepeatCause::rnr_nak) store_.watch->witness.repaired(flow.id, repair, frame);
    if (recovery.pending() == RepeatCause::none) signals.heeded();
}

/// Before a packet of a new position moves the flow forward.
void RoceTracker::watch_request(FlowIndex index, const Progress& packet, std::uint64_t frame) {
    const Flow& flow = store_.table[index];
    const bool answered = flow.key.service == Service::rc || flow.key.service == Service::xrc;
    Watch::Beginning& present = store_.watch->messages(index).present;
    if (packet.starts)
        present = {frame, packet.last};
    else if (!flow.request.in_message)
        present = {};
    if (!packet.ends) return;
    const std::uint64_t before = packet.starts ? 0 : flow.request.message_bytes;
    store_.watch->witness.message(
        flow.id, {packet.operation, answered ? packet.last : 0, before + packet.moved, present.frame}, frame);
    present = {};
}

/// The last packet of the message under way is missing, and lies at `position` or before.
void RoceTracker::watch_end_unseen(FlowIndex index, std::uint64_t position) {
    const Flow& flow = store_.table[index];
    Watch::Messages& messages = store_.watch->messages(index);
    store_.watch->witness.message(
        flow.id, {flow.request.operation, position, flow.request.message_bytes, messages.present.frame}, 0);
    messages.past = messages.present;
    messages.present = {};
}

/// A packet of a position that is not new: for the first time in the capture, or again.
void RoceTracker::watch_past(FlowIndex index, const PacketRecord& record, const Progress& packet, bool first_sight) {
    const Flow& flow = store_.table[index];
    const bool answered = flow.key.service == Service::rc || flow.key.service == Service::xrc;
    Watch::Messages& messages = store_.watch->messages(index);
    if (!first_sight) store_.watch->witness.repeats(flow.id, record.frame, record.repeats_frame);
    if (packet.starts) messages.past = {first_sight ? record.frame : record.repeats_frame, packet.last};
    if (!packet.ends) return;
    // All packets but the last are as long as the path's MTU allows. IBTA vol. 1, 9.4.1.
    const auto holds = [&](const Watch::Beginning& one) { return one.frame != 0 && one.position <= packet.last; };
    const Watch::Beginning begin = holds(messages.past)      ? messages.past
                                   : holds(messages.present) ? messages.present
                                                             : Watch::Beginning{};
    messages.past = {};
    if (!first_sight) return;
    std::uint64_t bytes = packet.starts ? packet.moved : 0;
    if (!packet.starts && begin.frame != 0)
        bytes = (packet.last - begin.position) * flow.request.mtu_payload + packet.moved;
    const bool waits = answered && packet.last >= flow.request.acknowledged;
    store_.watch->witness.message(flow.id, {packet.operation, waits ? packet.last : 0, bytes, begin.frame, true},
                                  record.frame);
}

}  // namespace metrics
