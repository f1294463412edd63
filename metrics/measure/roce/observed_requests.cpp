#include "metrics/measure/roce/observed_requests.h"

namespace metrics::inline measure::inline roce {

namespace {

bool is_reliable(const Flow& flow) { return flow.key.service == Service::rc || flow.key.service == Service::xrc; }

}  // namespace

void observe_repair(ObservedFlows& observed, const Flow& flow, const Recovery& recovery, std::uint64_t frame,
                    RepeatCause cause, Repair& repair) {
    if (cause == RepeatCause::none) return;
    ObservedFlows::Signals& signals = observed.signals(flow);
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
    if (cause != RepeatCause::rnr_nak) observed.observer.repaired(flow.id, repair, frame);
    if (recovery.pending() == RepeatCause::none) signals.clear();
}

void observe_request(ObservedFlows& observed, const Flow& flow, FlowIndex index, const Progress& packet,
                     std::uint64_t frame) {
    ObservedFlows::Beginning& present = observed.messages(index).present;
    if (packet.starts)
        present = {frame, packet.last};
    else if (!flow.request.in_message)
        present = {};
    if (!packet.ends) return;
    const std::uint64_t before = packet.starts ? 0 : flow.request.message_bytes;
    observed.observer.message(
        flow.id, {packet.operation, is_reliable(flow) ? packet.last : 0, before + packet.moved, present.frame}, frame);
    present = {};
}

void observe_end_unseen(ObservedFlows& observed, const Flow& flow, FlowIndex index, std::uint64_t position) {
    ObservedFlows::Messages& messages = observed.messages(index);
    observed.observer.message(
        flow.id, {flow.request.operation, position, flow.request.message_bytes, messages.present.frame}, 0);
    messages.past = messages.present;
    messages.present = {};
}

void observe_past(ObservedFlows& observed, const Flow& flow, FlowIndex index, const PacketRecord& record,
                  const Progress& packet, bool first_sight) {
    ObservedFlows::Messages& messages = observed.messages(index);
    if (!first_sight) observed.observer.repeats(flow.id, record.frame, record.repeats_frame);
    if (packet.starts) messages.past = {first_sight ? record.frame : record.repeats_frame, packet.last};
    if (!packet.ends) return;
    // All packets but the last are as long as the path's MTU allows. IBTA vol. 1, 9.4.1.
    const auto holds = [&](const ObservedFlows::Beginning& one) {
        return one.frame != 0 && one.position <= packet.last;
    };
    const ObservedFlows::Beginning begin = holds(messages.past)      ? messages.past
                                           : holds(messages.present) ? messages.present
                                                                     : ObservedFlows::Beginning{};
    messages.past = {};
    if (!first_sight) return;
    std::uint64_t bytes = packet.starts ? packet.moved : 0;
    if (!packet.starts && begin.frame != 0)
        bytes = (packet.last - begin.position) * flow.request.mtu_payload + packet.moved;
    const bool waits = is_reliable(flow) && packet.last >= flow.request.acknowledged;
    observed.observer.message(flow.id, {packet.operation, waits ? packet.last : 0, bytes, begin.frame, true},
                              record.frame);
}

}  // namespace metrics::measure::roce
