#include "metrics/measure/roce/roce_responses.h"

#include <algorithm>

#include "metrics/measure/packet/psn.h"
#include "metrics/measure/roce/asked_responses.h"
#include "metrics/measure/roce/credit.h"
#include "metrics/measure/roce/missing.h"
#include "wire/aeth.h"

namespace metrics::inline measure::inline roce {

void RoceResponses::on_response(const RocePacket& packet) {
    const PacketRecord& record = packet.record;
    const wire::BthOpcode& opcode = packet.opcode;
    FlowIndex index = packet.flow;
    Flow* const requester = requests_.requester_of(index, record);
    Flow& flow = store_.table[index];
    ResponseState& responses = store_.responder(flow);
    const bool known = requester != nullptr && requester->request.next != 0;
    const bool first_seen = responses.next == 0;
    if (first_seen)
        responses.next =
            psn::first_position + record.psn - (known ? AwaitedResponses::count_before(*requester, record) : 0);
    const std::int32_t ahead = psn::difference(record.psn, responses.next);
    const std::uint64_t here = psn::position_of(record.psn, responses.next);
    if (!opcode.ends_message())
        responses.mtu_payload = static_cast<std::uint16_t>(std::min<std::uint32_t>(record.payload_length, 0xffff));
    if (known) extents_.learn_from_response(*requester, record, opcode);
    Situation situation;
    situation.response = true;
    const bool past = ahead < 0 && ahead > psn::successor_behind;
    if (past && !on_past_response(known ? requester : nullptr, flow, packet, here)) return;
    if (opcode.starts_message()) responses.incomplete = false;
    const bool continues = responses.in_response && !opcode.starts_message();
    if (past) {
        note_repeat(flow, responses, record, here, situation);
    } else {
        responses.repeating = false;
        if (ahead > 0 && (!opcode.starts_message() || (known && awaited_.are_skipped_by(*requester, record)))) {
            // A packet that continues a response follows another packet of it.
            const bool surely = !opcode.starts_message() && !first_seen;
            const std::uint64_t sure = continues ? responses.next : surely ? here - 1 : here;
            lost_.note_skipped(known ? requester : nullptr, flow, record, {responses.next, sure, here}, continues);
            if (surely) responses.incomplete = true;
        }
        flow.counts.payload_bytes += record.payload_length;
        if (known && requester->request.read_reth_cut) [[unlikely]]
            measure_read(*requester, responses, packet);
        situation.mid_message = continues;
        responses.next = here + 1;
    }
    tracking_.close_gap(flow, record, situation);
    const bool lacked = requester != nullptr && lacks_credit(flow, *requester);
    const bool has_aeth = opcode.starts_message() || opcode.ends_message();
    if (has_aeth && wire::kind_of_syndrome(record.syndrome) == wire::AethKind::ack)
        requests_.note_credits(flow, requester, record);
    responses.in_response = !opcode.ends_message();
    if (opcode.ends_message()) responses.message_end_ns = record.time_ns;
    flow.request.last_data_ns = psn::later(flow.request.last_data_ns, record.time_ns);
    if (!known) return;
    store_.note_answer(*requester, record.frame);
    if (situation.again && opcode.ends_message()) store_.note_repeated_answer(*requester);
    if (requester->request.lacks_responses) lost_.settle(*requester, record.time_ns, record.frame);
    if (!situation.again)
        note_request(*requester, flow, packet, continues);
    else if (const auto first = missing_again(store_.trouble(flow).missing_responses, here))
        // The repeated request's responses were lost again: the requester drops what follows, and asks once more.
        lost_.note_lost(*requester, record,
                        psn::position_of(static_cast<std::uint32_t>(*first), requester->request.next));
    answer(*requester, flow, packet);
    if (lacked && !lacks_credit(flow, *requester)) requester->request.credit_freed_ns = record.time_ns;
}

/// The response is sent again. Responses come again because their request did: the responder was asked.
void RoceResponses::note_repeat(Flow& carrier, ResponseState& responses, const PacketRecord& record, std::uint64_t here,
                                Situation& situation) {
    ++responses.repeated;
    situation.again = true;
    if (!responses.repeating || here < responses.repeated_next) {
        situation.cause = RepeatCause::nak;
        store_.show(carrier, EventKind::retransmission, record.frame, 1);
    }
    responses.repeating = true;
    responses.repeated_next = here + 1;
}

/// The RETH of a READ was cut off: its length is that of its responses.
void RoceResponses::measure_read(Flow& requester, ResponseState& responses, const RocePacket& packet) {
    const std::uint64_t position = psn::position_of(packet.record.psn, requester.request.next);
    const OutstandingMessage* const read = requester.ledger.oldest_response(store_.rings, position);
    if (read == nullptr || read->bytes != 0 ||
        static_cast<Operation>(static_cast<unsigned>(read->operation)) != Operation::read)
        return;
    const std::uint32_t payload = packet.record.payload_length;
    store_.count(requester, Operation::read).bytes += payload;
    if (packet.opcode.starts_message()) responses.read_bytes = 0;
    responses.read_bytes += payload;
    if (packet.opcode.ends_message() && !responses.incomplete) store_.record_message(requester, responses.read_bytes);
}

/// What a response shows of its request if the tap has not seen the request: the responder has received it. Of the PSNs
/// that a READ takes, one is a packet of the requester's.
void RoceResponses::note_request(Flow& requester, Flow& carrier, const RocePacket& packet, bool continues) {
    RequestState& request = requester.request;
    const std::uint64_t position = psn::position_of(packet.record.psn, request.next);
    if (position >= request.next) {
        const std::uint64_t requests = continues ? 0 : position - request.next + 1;
        return requests_.receive_unseen(requester, position, requests, packet.record);
    }
    if (!request.lacking || packet.opcode.starts_message() || requester.trouble == Flow::no_block) return;
    // No packet after the first that passed of these responses is a request's own.
    const std::uint64_t first = store_.responder(carrier).message_position;
    const std::uint64_t begin = continues && first < position ? first + 1 : position;
    const std::uint32_t taken = forget_missing(store_.troubles[requester.trouble].missing, begin, position + 1);
    request.missing -= std::min(request.missing, taken);
}

/// A response at a position that a later one has passed: whether it was sent again. A responder does that if its
/// requester asks again, and for nothing else; if no such request has passed, the network has delayed or doubled it.
/// Much later the capture may have lost the request.
bool RoceResponses::on_past_response(Flow* requester, Flow& carrier, const RocePacket& packet, std::uint64_t here) {
    const PacketRecord& record = packet.record;
    ResponseState& responses = store_.responder(carrier);
    FlowTrouble& trouble = store_.trouble(carrier);
    MissingRanges::Range hole;
    const bool fills = take_missing(trouble.missing_responses, here, hole);
    const std::uint64_t position = requester == nullptr ? 0 : psn::position_of(record.psn, requester->request.next);
    const std::int64_t since_ns = fills ? hole.noticed_ns : carrier.request.last_data_ns;
    const bool asked = requester == nullptr || hole.acknowledged ||
                       ((hole.refused || is_asked_again(store_, *requester, position)) &&
                        !is_answer_under_way(store_, *requester, record.time_ns));
    const bool again = asked || psn::elapsed(since_ns, record.time_ns) >= psn::network_disorder_ns;
    if (fills) {
        carrier.counts.payload_bytes += record.payload_length;
        if (requester != nullptr && requester->request.read_reth_cut) measure_read(*requester, responses, packet);
    } else {
        store_.observe([&](ObservedFlows& observed) {
            observed.observer.repeats(carrier.id, record.frame, record.repeats_frame);
        });
    }
    if (again) {
        trouble.losses.note(here, fills, !fills && !responses.repeating);
        if (hole.acknowledged && trouble.unseen_acknowledged > 0) {
            // The requester noticed late that it lacks them.
            --trouble.unseen_acknowledged;
            ++responses.missing;
        }
        // Then those that follow were asked for by the same request.
        if (!asked)
            ask_again(store_.trouble(*requester), position + 1, position + (responses.next - here), false,
                      record.time_ns);
    } else if (fills) {
        if (hole.counted && responses.missing > 0) --responses.missing;
        if (hole.answered && here == hole.begin) {
            // An acknowledgement alone has passed it, or is stamped early: among responses it is the next one.
            Situation situation;
            situation.response = true;
            situation.mid_message = !packet.opcode.starts_message();
            tracking_.close_gap(carrier, record, situation);
            carrier.request.last_data_ns = psn::later(carrier.request.last_data_ns, record.time_ns);
        } else {
            ++carrier.request.reordered;
            store_.show(carrier, EventKind::reordered, record.frame, responses.next - here);
        }
        on_late_response(*requester, carrier, packet, here);
    } else {
        ++carrier.request.duplicates;
        store_.show(carrier, EventKind::duplicate, record.frame);
    }
    return again;
}

/// Later responses had overtaken it. What waited for it alone is complete now.
void RoceResponses::on_late_response(Flow& requester, Flow& carrier, const RocePacket& packet, std::uint64_t here) {
    const PacketRecord& record = packet.record;
    RequestState& request = requester.request;
    ResponseState& responses = store_.responder(carrier);
    const std::uint64_t position = psn::position_of(record.psn, request.next);
    const std::uint64_t apart = here - position;
    const OutstandingMessage* const oldest = requester.ledger.oldest_response(store_.rings, 0);
    if (packet.opcode.starts_message() && (oldest == nullptr || oldest->position >= position))
        note_beginning(requester, position, record);
    if (packet.opcode.ends_message()) responses.message_end_ns = psn::later(responses.message_end_ns, record.time_ns);
    const std::uint32_t waiting = requester.ledger.responses();
    if (is_asked_again(store_, requester, position)) {
        // Its requester has dropped those: they will come again, or it asks for them, too.
        requests_.acknowledge(requester, position, record);
        if (here + 1 < responses.next) lost_.note_lost(requester, record, position + 1);
        if (requester.ledger.responses() < waiting) request.response_ns = record.time_ns;
        return;
    }
    std::uint64_t end = responses.next;
    responses.incomplete = false;
    for (const MissingRanges::Range& range : store_.trouble(carrier).missing_responses.ranges) {
        if (range.begin == range.end || range.acknowledged || range.end <= request.acknowledged + apart) continue;
        end = std::min(end, range.begin);
        if (range.end > responses.message_position + apart && range.begin < responses.next) responses.incomplete = true;
    }
    if (end == responses.next) lost_.end_gap(requester);
    if (end > here) requests_.acknowledge(requester, end - apart - 1, record);
    if (requester.ledger.responses() < waiting) request.response_ns = record.time_ns;
}

/// The response begins with the packet at `position`.
void RoceResponses::note_beginning(Flow& requester, std::uint64_t position, const PacketRecord& record) {
    OutstandingMessage* const read = requester.ledger.oldest_response(store_.rings, position);
    // What comes again may be of an older one, which is complete.
    if (read == nullptr || position < awaited_.begin_of(requester, *read)) return;
    if (read->responded || read->again || read->merged ||
        static_cast<Operation>(static_cast<unsigned>(read->operation)) != Operation::read)
        return;
    read->responded = 1;
    if (record.time_ns < read->last_ns) return;
    const std::uint64_t latency = psn::elapsed(read->last_ns, record.time_ns);
    store_.record(requester, FlowHistogram::first_response, latency);
    psn::keep_least(requester.request.round_trip_min_ns, latency);
    store_.path_windows.note_round_trip(requester, latency);
}

/// The requests that the response completes, or shows to be received.
void RoceResponses::answer(Flow& requester, Flow& carrier, const RocePacket& packet) {
    const PacketRecord& record = packet.record;
    ResponseState& responses = store_.responder(carrier);
    RequestState& request = requester.request;
    const std::uint64_t position = psn::position_of(record.psn, request.next);
    OutstandingMessage* const oldest = requester.ledger.oldest_response(store_.rings, 0);
    if (packet.opcode.starts_message()) {
        responses.message_position = position;
        const bool skipped = oldest != nullptr && oldest->position < position && oldest->merged == 0;
        if (skipped) {
            // The oldest READ or atomic was not answered to its end: its responses were lost, here or before the tap.
            if (!lost_.has_gap(requester))
                lost_.note_lost(requester, record, std::max(oldest->position, request.acknowledged));
        } else if (position <= request.next) {
            requests_.acknowledge(requester, position - 1, record);
        }
        if (!skipped) note_beginning(requester, position, record);
    }
    if (!packet.opcode.ends_message() || responses.incomplete) return;
    if (lost_.holds_back(requester, responses.message_position)) return;
    const std::uint32_t waiting = requester.ledger.responses();
    requests_.acknowledge(requester, position, record);
    if (requester.ledger.responses() < waiting) request.response_ns = record.time_ns;
}

}  // namespace metrics::measure::roce
