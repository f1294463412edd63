#include "metrics/measure/roce/roce_repairs.h"

#include <algorithm>

#include "metrics/measure/flow/vantage.h"
#include "metrics/measure/packet/identification.h"
#include "metrics/measure/packet/psn.h"
#include "metrics/measure/roce/asked_responses.h"
#include "metrics/measure/roce/missing.h"
#include "metrics/measure/roce/observed_requests.h"

namespace metrics::inline measure::inline roce {

namespace {

/// A NAK, or what implies one, has named the packet, and the sender may go back to it.
bool is_asked_for(const FlowTrouble& trouble, std::uint64_t position) {
    return trouble.recovery.pending() != RepeatCause::none && trouble.recovery.signalled(position);
}

bool asks_for_response(const PacketRecord& record) {
    return wants_response(operation_of(wire::bth_opcode(record.opcode)));
}

/// Whether a packet whose acknowledgement passed first is the next one of its sender all the same: time stamps are from
/// different clocks if the adapter has one for each queue. Longer after the acknowledgement it may be sent again.
bool was_answered_early(const Flow& flow, const FlowTrouble& trouble, std::int64_t now_ns, std::uint64_t position,
                        const MissingRanges::Range& hole) {
    return hole.answered && !hole.refused && position > flow.request.last_position && !trouble.recovery.running() &&
           !is_asked_for(trouble, position) && psn::elapsed(hole.noticed_ns, now_ns) < psn::network_disorder_ns;
}

/// Whether the sender of a packet, which counts identifications up, made it before others that have passed. A repeat is
/// a new packet with a new identification. A count that several queue pairs share may have gone half way round since:
/// then the distance is that of the packets in between, or the time is too short for that.
bool was_made_before(const RequestState& request, const PacketRecord& record, std::uint64_t position,
                     std::uint64_t silence_ns) {
    if (position == request.last_position) return false;  // not a copy of that packet, whose identification is another
    if (made(request, record.identification, request.identification) == Made::later) return false;
    const auto behind = static_cast<std::uint16_t>(request.identification - record.identification);
    return behind + position == request.last_position || silence_ns < psn::least_timer_ns;
}

}  // namespace

RepeatCause RoceRepairs::report(const RequestPacket& packet, bool late) {
    const PacketRecord& record = packet.record;
    const std::uint64_t position = packet.position;
    Flow& flow = store_.table[packet.flow];
    FlowTrouble& trouble = store_.trouble(flow);
    const Vantage vantage = vantage_of(flow, flow.reverse == no_flow ? nullptr : &store_.table[flow.reverse]);
    const RecoveryPacket repeated{.now_ns = record.time_ns,
                                  .position = position,
                                  .span = std::max<std::uint32_t>(packet.span, 1),
                                  .read = packet.is_read(),
                                  .late = late,
                                  .atomic = !packet.is_read() && asks_for_response(record)};
    Repair repair;
    const bool past_hole = trouble.recovery.past_hole();
    const bool fills_hole = trouble.recovery.lacks(position);
    const auto note = [&](auto what, std::uint64_t value) {
        if constexpr (std::is_same_v<decltype(what), EventKind>) {
            store_.show(flow, what, record.frame, value);
        } else {
            switch (what) {
                case RecoveryStep::begun: break;
                case RecoveryStep::nak_generation: store_.record(flow, FlowHistogram::nak_generation, value); break;
                case RecoveryStep::nak_reaction:
                    store_.record(flow, FlowHistogram::nak_reaction, value);
                    repair.nak_reaction_ns = value;
                    break;
                case RecoveryStep::total:
                    store_.record(flow, FlowHistogram::recovery_total, value);
                    repair.total_ns = value;
                    break;
            }
        }
    };
    // Round trips and hop limits show the sender's side of the network, where packets can be lost before the tap.
    const bool at_sender = flow.outbound && !flow.inbound;
    const RepeatCause cause =
        trouble.recovery.data(repeated, {at_sender, vantage == Vantage::receiver, flow.ack_timeout_ns()}, note);
    flow.request.recovering = trouble.recovery.busy();
    store_.observe([&](ObservedFlows& observed) {
        ObservedFlows::Signals& signals = observed.signals(flow);
        if (fills_hole) repair.first_out_of_sequence_frame = signals.past_hole_frame;
        if (!past_hole && trouble.recovery.past_hole()) signals.past_hole_frame = record.frame;
        repair.of_lost = cause == RepeatCause::timeout || trouble.recovery.signalled(position);
        observe_repair(observed, flow, trouble.recovery, record.frame, cause, repair);
    });
    return cause;
}

/// Whether a packet of a position that is not new was delayed or doubled by the network, and not sent again.
bool RoceRepairs::is_late(const Flow& flow, const FlowTrouble& trouble, const PacketRecord& record,
                          std::uint64_t position, const MissingRanges::Range* hole) const {
    const RequestState& request = flow.request;
    const bool counted = request.orderly >= orderly_enough;
    const bool copied = is_recent(request, position, record.identification);
    const std::uint64_t silence = psn::elapsed(request.last_data_ns, record.time_ns);
    if (counted && copied) return true;
    if (hole != nullptr) {
        // If its acknowledgement showed the hole, the newest packet decides, provided that it came from after the hole.
        const bool past = !hole->answered || position < request.last_position;
        const Made order =
            made(request, record.identification, hole->answered ? request.identification : hole->identification);
        if (past && order != Made::unknown) return order != Made::later;
    } else if (counted) {
        // Repeats overtake one another, too: for a position that may have been among them the count shows nothing.
        return position >= trouble.repeats_end && was_made_before(request, record, position, silence);
    } else if (!copied && position == request.last_position && record.identification != 0) {
        return false;  // not the packet that passed before, so its sender has made it again
    }
    if (trouble.recovery.running()) return false;
    // Its response has passed, and was lost after the tap: the requester asks for it again, at once if it notices.
    if (hole == nullptr && asks_for_response(record) && has_been_answered(flow, position)) return false;
    if (hole != nullptr && hole->answered && !is_asked_for(trouble, position))
        return psn::elapsed(hole->noticed_ns, record.time_ns) < psn::network_disorder_ns;
    if (trouble.recovery.pending() == RepeatCause::none) {
        // Without a signal only a timer makes the sender repeat, and no timer is shorter than the round trip.
        std::uint64_t quiet =
            request.round_trip_min_ns != 0xffffffff ? request.round_trip_min_ns : psn::network_disorder_ns;
        // The least round trip so far may have been one under load. Acknowledged packets have arrived, and cannot be
        // late any more; their sender repeats them if the acknowledgement is lost after the tap, once its timer has run
        // out.
        const std::uint64_t agreed = flow.ack_timeout_ns();
        const std::uint64_t timer = agreed == 0 ? psn::least_timer_ns : std::min(agreed, psn::least_timer_ns);
        if (position < request.acknowledged) quiet = std::clamp(quiet, timer, psn::network_disorder_ns);
        // Next to the receiver, the round trip is only the receiver's own time: an adapter or a network that spreads
        // packets is late by more than that.
        if (hole != nullptr && !hole->answered) quiet = std::max(quiet, timer);
        return silence < quiet;
    }
    return false;
}

/// Whether the response to a READ or atomic at `position` has passed; its requester need not have taken it.
bool RoceRepairs::has_been_answered(const Flow& flow, std::uint64_t position) const {
    if (position < flow.request.acknowledged) return true;
    const ResponseState* const responses =
        flow.reverse == no_flow ? nullptr : store_.responder_of(store_.table[flow.reverse]);
    return responses != nullptr && responses->next != 0 &&
           position < psn::position_of(static_cast<std::uint32_t>(responses->next), flow.request.next);
}

/// A packet for which was_answered_early() is true: it was not lost, not sent again, and in order.
void RoceRepairs::on_answered_early(const RequestPacket& packet, const Progress& progress,
                                    const MissingRanges::Range& hole) {
    const PacketRecord& record = packet.record;
    const std::uint64_t position = packet.position;
    Flow& flow = store_.table[packet.flow];
    RequestState& request = flow.request;
    FlowTrouble& trouble = store_.trouble(flow);
    store_.observe([&](ObservedFlows& observed) { observe_past(observed, flow, packet.flow, record, progress, true); });
    messages_.add_late(flow, progress);
    if (progress.ends) request.message_end_ns = record.time_ns;
    if (trouble.unseen_acknowledged > 0) --trouble.unseen_acknowledged;
    // What the gap before it lacks are older ones of the stretch; the younger ones may come yet.
    request.unobserved = request.unobserved && position != hole.begin;
    Situation situation;
    situation.mid_message = !progress.starts && position == request.last_position + 1;
    situation.wants_response = wants_response(operation_of(packet.opcode));
    note_identification(request, position, record.identification);
    tracking_.close_gap(flow, record, situation);
    request.unobserved = position + 1 < hole.end;
    request.last_position = position;
    request.last_data_ns = psn::later(request.last_data_ns, record.time_ns);
}

/// Whether the packet, which is sent again, begins an episode of losses. That is of the path of its first transmission.
bool RoceRepairs::count_loss(Flow& flow, const RequestPacket& packet, RepeatCause cause, bool fills) {
    if (EntropyRow* const now = store_.present_entropy_row(flow); now != nullptr) ++now->repeated;
    const bool begins_run = cause == RepeatCause::nak || cause == RepeatCause::timeout;
    if (!packet.is_read()) {
        HoleWatch& holes = store_.trouble(flow).holes;
        holes.repeat(packet.position, flow.request.next, fills, begins_run, cause == RepeatCause::timeout);
        flow.is_hole_open = holes.is_open();
    }
    if (!store_.trouble(flow).losses.note(packet.position, fills, begins_run)) return false;
    store_.path_windows.note_loss(flow, packet.record.time_ns);
    if (fills) return true;  // the entropy of a packet that was never seen is not known
    if (EntropyRow* const first = store_.entropy_row_of(flow, packet.position); first != nullptr)
        ++first->loss_episodes;
    return true;
}

/// The network has delayed the packet, or doubled it if there was no hole.
void RoceRepairs::count_late(Flow& flow, FlowTrouble& trouble, const RequestPacket& packet,
                             const MissingRanges::Range* hole) {
    RequestState& request = flow.request;
    if (hole == nullptr) {
        ++request.duplicates;
        store_.show(flow, EventKind::duplicate, packet.record.frame);
        return;
    }
    ++request.reordered;
    if (hole->refused) ++trouble.late_refused;
    trouble.losses.note_late(packet.position);
    trouble.holes.late(packet.position, hole->refused);
    flow.is_hole_open = trouble.holes.is_open();
    store_.record(flow, RareHistogram::late_depth, request.next - packet.position);
    store_.record(flow, RareHistogram::late_ns, psn::elapsed(hole->noticed_ns, packet.record.time_ns));
    if (EntropyRow* const now = store_.present_entropy_row(flow); now != nullptr) ++now->late;
    // If it was acknowledged, the acknowledgement was early, and the capture has lost nothing.
    if (hole->counted && hole->acknowledged && trouble.unseen_acknowledged > 0) --trouble.unseen_acknowledged;
    if (hole->counted && !hole->acknowledged && request.missing > 0) --request.missing;
    store_.show(flow, EventKind::reordered, packet.record.frame, request.next - packet.position);
}

/// A READ or atomic is sent again: so its responses will be. `running` says that its sender is going back already.
void RoceRepairs::ask_for_responses(Flow& flow, FlowTrouble& trouble, const RequestPacket& packet,
                                    const Progress& progress, bool running) {
    RequestState& request = flow.request;
    const std::uint64_t open = progress.cut_reth  ? request.next - packet.position - 1
                               : packet.span == 0 ? psn::slack_of(packet.record.dma_length, request.mtu_exponent)
                                                  : 0;
    ask_again(trouble, packet.position, progress.last + 1 + open, running, packet.record.time_ns);
    if (flow.reverse == no_flow) return;
    Flow& carrier = store_.table[flow.reverse];
    if (request.lacks_responses) refuse_all_missing(store_.trouble(carrier).missing_responses);
    request.lacks_responses = false;
    if (carrier.trouble != Flow::no_block) ask_for_missing(store_.troubles[carrier.trouble].missing_responses);
}

bool RoceRepairs::on_past_request(const RequestPacket& packet, Situation& situation) {
    const PacketRecord& record = packet.record;
    const std::uint64_t position = packet.position;
    Flow& flow = store_.table[packet.flow];
    RequestState& request = flow.request;
    FlowTrouble& trouble = store_.trouble(flow);
    // A READ may be asked for again from its middle on. Any other request that begins there was not part of the READ.
    if (request.read_guessed && !packet.is_read()) extents_.shorten(flow, position, record);
    MissingRanges::Range hole;
    const bool fills = holes_.take(flow, record, position, hole);
    const Progress progress = progress_of(packet);
    repeated_.pass_again(flow, packet);
    if (fills && was_answered_early(flow, trouble, record.time_ns, position, hole)) {
        if (request.recovering) report(packet, true);
        on_answered_early(packet, progress, hole);
        return false;
    }
    const std::uint64_t silence = psn::elapsed(request.last_data_ns, record.time_ns);
    const bool late = is_late(flow, trouble, record, position, fills ? &hole : nullptr);
    const bool running = trouble.recovery.running();
    if (!request.recovering) trouble.recovery.resume(request.next, request.acknowledged, request.last_data_ns);
    const RepeatCause cause = report(packet, late);
    store_.observe(
        [&](ObservedFlows& observed) { observe_past(observed, flow, packet.flow, record, progress, fills); });
    if (fills) {
        messages_.add_late(flow, progress);
        if (packet.opcode.ends_message()) flow.ledger.end_late(record.time_ns, position);
    }
    if (late) {
        count_late(flow, trouble, packet, fills ? &hole : nullptr);
        return false;
    }
    repeat_missing(trouble.missing, position);
    const bool lost = count_loss(flow, packet, cause, fills);
    if (wants_response(progress.operation)) ask_for_responses(flow, trouble, packet, progress, running);
    ++request.repeated;
    trouble.repeats_end = request.next;
    if (cause != RepeatCause::none) {
        repeated_.repeat(flow, packet, cause);
        store_.show(flow, EventKind::retransmission, record.frame, 1);
        if (cause == RepeatCause::timeout) {
            ++trouble.timeouts;
            store_.show(flow, EventKind::timeout, record.frame, silence);
        }
    }
    // A sender that goes back repeats all that followed.
    const bool alone = !running && position + 1 < request.next && request.orderly < orderly_enough;
    if (fills && !hole.acknowledged && (alone || trouble.recovery.leapt())) {
        trouble.doubtful = position;
        trouble.doubtful_episode = lost;
    } else {
        flow.ledger.mark_again(store_.rings, position);
    }
    trouble.doubtful_timeout = cause == RepeatCause::timeout;
    situation.again = true;
    situation.cause = cause;
    return true;
}

void RoceRepairs::decide_doubt(Flow& flow, std::uint64_t position) {
    FlowTrouble& trouble = store_.troubles[flow.trouble];
    RequestState& request = flow.request;
    const std::uint64_t doubtful = trouble.doubtful;
    if (doubtful == 0) return;
    trouble.doubtful = 0;
    const bool leapt = trouble.recovery.leapt();
    if (position >= doubtful && (leapt || (position < request.next && position != doubtful))) {
        flow.ledger.mark_again(store_.rings, doubtful);
        return;
    }
    --request.repeated;
    ++request.reordered;
    if (request.missing > 0) --request.missing;
    if (trouble.doubtful_timeout) --trouble.timeouts;
    if (trouble.doubtful_episode && trouble.losses.count > 0) {
        --trouble.losses.count;
        store_.path_windows.take_back_loss(flow);
    }
    trouble.holes.forget_positions();
    flow.is_hole_open = false;
    trouble.recovery.was_late();
    request.recovering = trouble.recovery.busy();
}

}  // namespace metrics::measure::roce
