// What a requester sends again, and what the network delays or doubles.
#include <algorithm>

#include "metrics/flow/vantage.h"
#include "metrics/roce/identification.h"
#include "metrics/roce/missing.h"
#include "metrics/roce/progress.h"
#include "metrics/roce/psn.h"
#include "metrics/roce/roce_tracker.h"

namespace metrics {

namespace {

/// How far before the first packet seen its neighbours may come after it.
constexpr std::uint64_t reach_before = 64;

/// A NAK, or what implies one, has named the packet, and the sender may go back to it.
bool is_asked_for(const FlowTrouble& trouble, std::uint64_t position) {
    return trouble.recovery.pending() != RepeatCause::none && trouble.recovery.signalled(position);
}

bool asks_for_response(const PacketRecord& record) {
    return wants_response(operation_of(wire::bth_opcode(record.opcode)));
}

}  // namespace

RepeatCause RoceTracker::tell_recovery(Flow& flow, const PacketRecord& record, std::uint64_t position,
                                       std::uint32_t span, bool read, bool late) {
    FlowTrouble& trouble = store_.trouble(flow);
    const Vantage vantage = vantage_of(flow, flow.reverse == no_flow ? nullptr : &store_.table[flow.reverse]);
    const RecoveryPacket packet{.now_ns = record.time_ns,
                                .position = position,
                                .span = std::max<std::uint32_t>(span, 1),
                                .read = read,
                                .late = late,
                                .atomic = !read && asks_for_response(record)};
    Repair repair;
    const bool past_hole = trouble.recovery.past_hole();
    const bool fills_hole = trouble.recovery.lacks(position);
    const auto report = [&](auto what, std::uint64_t value) {
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
    // Round trips and hop limits tell the sender's side of the network, where packets can be lost before the tap.
    const bool at_sender = flow.outbound && !flow.inbound;
    const RepeatCause cause =
        trouble.recovery.data(packet, {at_sender, vantage == Vantage::receiver, flow.ack_timeout_ns()}, report);
    flow.request.recovering = trouble.recovery.busy();
    if (store_.watch != nullptr) {
        Watch::Signals& signals = store_.watch->signals(flow);
        if (fills_hole) repair.first_out_of_sequence_frame = signals.past_hole_frame;
        if (!past_hole && trouble.recovery.past_hole()) signals.past_hole_frame = record.frame;
        repair.of_lost = cause == RepeatCause::timeout || trouble.recovery.signalled(position);
        watch_repair(flow, trouble.recovery, record.frame, cause, repair);
    }
    return cause;
}

/// Whether a packet of a position that is not new was delayed or doubled by the network, and not sent again.
bool RoceTracker::is_late(const Flow& flow, const FlowTrouble& trouble, const PacketRecord& record,
                          std::uint64_t position, const MissingRanges::Range* hole) const {
    const RequestState& request = flow.request;
    const bool counted = request.orderly >= orderly_enough;
    const bool copied = is_recent(request, position, record.identification);
    if (counted && copied) return true;
    if (hole != nullptr) {
        // Where its acknowledgement showed the hole, the newest packet tells, if that came from behind it.
        const bool behind = !hole->answered || position < request.last_position;
        const Made order =
            made(request, record.identification, hole->answered ? request.identification : hole->identification);
        if (behind && order != Made::unknown) return order != Made::later;
    } else if (counted || (!copied && position == request.last_position && record.identification != 0)) {
        return false;  // not the packet that passed before, so its sender has made it again
    }
    if (trouble.recovery.running()) return false;
    // Its response has passed, and was lost behind the tap: the requester asks for it again, at once where it sees
    // that.
    if (hole == nullptr && asks_for_response(record) && has_been_answered(flow, position)) return false;
    const std::uint64_t silence = psn::elapsed(request.last_data_ns, record.time_ns);
    if (hole != nullptr && hole->answered && !is_asked_for(trouble, position))
        return psn::elapsed(hole->noticed_ns, record.time_ns) < psn::network_disorder_ns;
    if (trouble.recovery.pending() == RepeatCause::none) {
        // Without a signal only a timer makes the sender repeat, and no timer is shorter than the round trip.
        std::uint64_t quiet =
            request.round_trip_min_ns != 0xffffffff ? request.round_trip_min_ns : psn::network_disorder_ns;
        // The least round trip so far may have been one under load. What was acknowledged has arrived, and can be late
        // no more.
        if (position < request.acknowledged) quiet = std::min(quiet, psn::network_disorder_ns);
        return silence < quiet;
    }
    return false;
}

/// Whether the response to a READ or atomic at `position` has passed; its requester need not have taken it.
bool RoceTracker::has_been_answered(const Flow& flow, std::uint64_t position) const {
    if (position < flow.request.acknowledged) return true;
    const ResponseState* const responses =
        flow.reverse == no_flow ? nullptr : store_.responder_of(store_.table[flow.reverse]);
    return responses != nullptr && responses->next != 0 &&
           position < psn::position_of(static_cast<std::uint32_t>(responses->next), flow.request.next);
}

/// Whether a packet of that position has not passed, though later ones have.
bool RoceTracker::take_hole(Flow& flow, const PacketRecord& record, std::uint64_t position,
                            MissingRanges::Range& hole) {
    RequestState& request = flow.request;
    FlowTrouble& trouble = store_.trouble(flow);
    const std::uint64_t base = psn::first_position + static_cast<std::uint64_t>(std::int64_t{request.base});
    if (position < base && base - position <= reach_before) {
        // The first packet that the capture holds was not the first of its neighbours.
        note_missing(trouble.missing, {position, base, record.time_ns, request.identification, false});
        request.base -= static_cast<std::int32_t>(base - position);
    }
    return take_missing(trouble.missing, position, hole);
}

/// Whether a packet whose acknowledgement passed first is the next one of its sender's all the same: stamps are from
/// different clocks, as adapters have one for each queue. Longer after the acknowledgement it may be sent again.
bool RoceTracker::was_answered_early(const Flow& flow, const FlowTrouble& trouble, std::int64_t now_ns,
                                     std::uint64_t position, const MissingRanges::Range& hole) {
    return hole.answered && !hole.refused && position > flow.request.last_position && !trouble.recovery.running() &&
           !is_asked_for(trouble, position) && psn::elapsed(hole.noticed_ns, now_ns) < psn::network_disorder_ns;
}

/// Such a packet: nothing was lost, nor sent again, nor out of its order.
void RoceTracker::answered_early(FlowIndex index, const PacketRecord& record, const wire::BthOpcode& opcode,
                                 const Progress& packet, std::uint64_t position, const MissingRanges::Range& hole) {
    Flow& flow = store_.table[index];
    RequestState& request = flow.request;
    FlowTrouble& trouble = store_.trouble(flow);
    if (store_.watch != nullptr) watch_past(index, record, packet, true);
    fill_hole(flow, packet);
    if (packet.ends) request.message_end_ns = record.time_ns;
    if (trouble.unseen_acknowledged > 0) --trouble.unseen_acknowledged;
    // What the gap before it lacks are older ones of the stretch; the younger ones may come yet.
    request.unobserved = request.unobserved && position != hole.begin;
    Situation situation;
    situation.mid_message = !packet.starts && position == request.last_position + 1;
    situation.wants_response = wants_response(operation_of(opcode));
    note_identification(request, position, record.identification);
    close_gap(flow, record, situation);
    request.unobserved = position + 1 < hole.end;
    request.last_position = position;
    request.last_data_ns = psn::later(request.last_data_ns, record.time_ns);
}

/// The responses in [begin, end) will come again. A sender that goes back repeats all READs that followed: `running`
/// says that it was at it already.
void RoceTracker::ask_again(FlowTrouble& trouble, std::uint64_t begin, std::uint64_t end, bool running,
                            std::int64_t now_ns) {
    const bool another = trouble.asked_begin >= trouble.asked_end || (begin > trouble.asked_end && !running);
    if (another) trouble.asked_ns = now_ns;
    trouble.asked_begin = another ? begin : std::min(trouble.asked_begin, begin);
    trouble.asked_end = another ? end : std::max(trouble.asked_end, end);
}

/// A position that a new packet has had already. Returns false where nothing is to be attributed: the network's doing.
bool RoceTracker::past_request(FlowIndex index, const PacketRecord& record, const wire::BthOpcode& opcode,
                               std::uint64_t position, std::uint32_t span, Situation& situation) {
    Flow& flow = store_.table[index];
    RequestState& request = flow.request;
    FlowTrouble& trouble = store_.trouble(flow);
    // A READ may be asked for again from its middle on; of others one that begins there was not of it.
    if (request.read_guessed && opcode.operation != wire::BthOperation::read_request)
        shorten_read(flow, position, record);
    MissingRanges::Range hole;
    const bool fills = take_hole(flow, record, position, hole);
    const Progress packet = progress_of(record, opcode, position, span);
    if (fills && was_answered_early(flow, trouble, record.time_ns, position, hole)) {
        if (request.recovering)
            tell_recovery(flow, record, position, span, opcode.operation == wire::BthOperation::read_request, true);
        answered_early(index, record, opcode, packet, position, hole);
        return false;
    }
    const bool counted = fills && hole.counted;
    const std::uint64_t silence = psn::elapsed(request.last_data_ns, record.time_ns);
    const bool late = is_late(flow, trouble, record, position, fills ? &hole : nullptr);
    const bool busy = request.recovering;
    const bool running = trouble.recovery.running();
    if (!busy) trouble.recovery.resume(request.next, request.acknowledged, request.last_data_ns);
    const RepeatCause cause =
        tell_recovery(flow, record, position, span, opcode.operation == wire::BthOperation::read_request, late);
    if (store_.watch != nullptr) watch_past(index, record, packet, fills);
    if (fills) {
        fill_hole(flow, packet);
        if (opcode.ends_message()) flow.ledger.end_late(record.time_ns, position);
        if (late) {
            ++request.reordered;
            // It was acknowledged: then it is the acknowledgement that was early, and the capture has lost nothing.
            if (counted && hole.acknowledged && trouble.unseen_acknowledged > 0) --trouble.unseen_acknowledged;
            if (counted && !hole.acknowledged && request.missing > 0) --request.missing;
            store_.show(flow, EventKind::reordered, record.frame, request.next - position);
        }
    } else if (late) {
        ++request.duplicates;
        store_.show(flow, EventKind::duplicate, record.frame);
    }
    if (late) return false;
    repeat_missing(trouble.missing, position);
    if (wants_response(packet.operation)) {
        const std::uint64_t open = packet.untold ? request.next - position - 1
                                   : span == 0   ? psn::slack_of(record.dma_length, request.mtu_exponent)
                                                 : 0;
        ask_again(trouble, position, packet.last + 1 + open, running, record.time_ns);
    }
    if (flow.reverse != no_flow && wants_response(packet.operation)) {
        Flow& carrier = store_.table[flow.reverse];
        if (request.lacks_responses) refuse_all_missing(store_.trouble(carrier).missing_responses);
        request.lacks_responses = false;
        if (carrier.trouble != Flow::no_block) ask_for_missing(store_.troubles[carrier.trouble].missing_responses);
    }
    ++request.repeated;
    if (cause != RepeatCause::none) {
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
    } else {
        flow.ledger.mark_again(store_.rings, position);
    }
    trouble.doubtful_timeout = cause == RepeatCause::timeout;
    situation.again = true;
    situation.cause = cause;
    return true;
}

/// What comes next shows whether a packet that filled a hole and was taken for one sent again had only been late. A
/// sender that goes back begins with the oldest, repeats all that followed and never returns to an older one: so it was
/// late where an older one follows, or new data what seemed the begin of going back.
void RoceTracker::decide_doubt(Flow& flow, std::uint64_t position) {
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
    trouble.recovery.was_late();
    request.recovering = trouble.recovery.busy();
}

}  // namespace metrics
