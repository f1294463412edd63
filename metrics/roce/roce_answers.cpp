// What responders send: acknowledgements, NAKs, READ responses, notifications.
#include <algorithm>
#include <optional>

#include "metrics/roce/credit.h"
#include "metrics/roce/missing.h"
#include "metrics/roce/moved.h"
#include "metrics/roce/progress.h"
#include "metrics/roce/psn.h"
#include "metrics/roce/roce_tracker.h"
#include "wire/aeth.h"

namespace metrics {

namespace {

/// A requester that lacks responses asks for them again within this.
std::uint64_t patience_ns(const RequestState& request) {
    return 10 * (request.round_trip_min_ns != 0xffffffff ? std::uint64_t{request.round_trip_min_ns}
                                                         : psn::network_disorder_ns);
}

}  // namespace

/// Whose requests the packet on `carrier` answers; nullptr where that is not known. The carrier may turn out to be
/// another life of its key: then its index changes.
Flow* RoceTracker::requester_of(FlowIndex& carrier, const PacketRecord& record) {
    Flow* flow = &store_.table[carrier];
    if (flow->reverse != no_flow) {
        Flow& requester = store_.table[flow->reverse];
        const bool guessed = requester.pairing == PairingMethod::psn;
        // Queue pairs that CM has connected may be used again without it.
        if ((!guessed && !requester.finished) || requester.request.next == 0) return &requester;
        const std::int32_t ahead = psn::difference(record.psn, requester.request.next);
        if (!requester.finished && ahead < psn::idle_life_ahead / 4 && ahead > psn::another_life_behind) {
            if (flow->pairing_percent < confirmed_percent && ahead <= 0)
                flow->pairing_percent = requester.pairing_percent = confirmed_percent;
            return &requester;
        }
        if (requester.finished && ahead <= 0 && ahead > psn::idle_life_behind) return &requester;  // a late answer
        if (flow->pairing_percent >= confirmed_percent) {
            // Sure of its partner, and now answering somebody else: the QPN has another life.
            carrier = begin_another_life(carrier, record);
            flow = &store_.table[carrier];
        } else {
            // These answers are about other requests: the hypothesis was wrong.
            flow->reverse = requester.reverse = no_flow;
            flow->pairing = requester.pairing = PairingMethod::none;
            flow->pairing_percent = requester.pairing_percent = 0;
        }
    }
    if (flow->finished) return nullptr;
    const PsnPairing::Finding finding = store_.pairing.answer(flow->key, carrier, record.psn, record.time_ns);
    if (finding.requester == no_flow) return nullptr;
    store_.pair(carrier, finding.requester, PairingMethod::psn, finding.confidence);
    return &store_.table[finding.requester];
}

/// The responder has had what lies before `position` and at it: `packets` packets that have not passed. They may only
/// be stamped later.
void RoceTracker::beyond_seen(Flow& requester, std::uint64_t position, std::uint64_t packets,
                              const PacketRecord& answer) {
    RequestState& request = requester.request;
    FlowTrouble& trouble = store_.trouble(requester);
    cut_message(requester);
    if (request.in_message) {
        // Its end was received, whenever it was; that measures nothing.
        requester.ledger.end(store_.rings, answer.time_ns, request.operation, request.next - 1, 0);
        requester.ledger.mark_again(store_.rings, request.next - 1);
        leave_message(requester);
    }
    if (packets > 0) {
        note_answered(trouble.missing, {.begin = request.next,
                                        .end = position + 1,
                                        .noticed_ns = answer.time_ns,
                                        .identification = request.identification,
                                        .acknowledged = true,
                                        .answered = true});
        trouble.unseen_acknowledged += static_cast<std::uint32_t>(std::min<std::uint64_t>(packets, 1u << 24));
        store_.show(requester, EventKind::ack_unseen, answer.frame, packets);
        request.unobserved = true;
    }
    if (request.recovering) {
        trouble.recovery.lost_sight();
        request.recovering = trouble.recovery.busy();
    }
    request.next = position + 1;
    request.read_slack = 0;
}

/// The responder has had all before `end`. It takes requests in their order only (IBTA vol. 1, 9.7.4.1.2), so what had
/// seemed lost before the tap, and has not been sent again, was lost by it. Where the responder had asked for it first,
/// it is the repeat that has not been seen.
void RoceTracker::settle_holes(Flow& requester, std::uint64_t end, std::uint64_t frame) {
    RequestState& request = requester.request;
    if (requester.trouble == Flow::no_block) return;
    FlowTrouble& trouble = store_.troubles[requester.trouble];
    const auto unseen = [&](std::uint64_t packets, bool refused) {
        if (packets == 0) return;
        const auto count = static_cast<std::uint32_t>(packets);
        trouble.unseen_acknowledged += count;
        if (!refused) request.missing -= std::min(request.missing, count);
        store_.show(requester, EventKind::ack_unseen, frame, count);
        request.unobserved = true;
    };
    const auto received = [&](std::uint64_t from, std::uint64_t to, bool refused) {
        std::uint64_t packets = to - from;
        for (const std::uint64_t damaged : trouble.damaged)
            if (damaged >= from && damaged < to && packets > 0) --packets;
        unseen(packets, refused);
    };
    request.lacking =
        acknowledge_missing(trouble.missing, end, received, [&](std::uint32_t packets) { unseen(packets, false); });
}

/// The conversation goes on though responses have not passed: their requester would have asked for them again, had it
/// noticed that it lacks them. IBTA vol. 1, 9.7.5.2.8.
void RoceTracker::settle_responses(Flow& requester, std::int64_t now_ns, std::uint64_t frame) {
    const std::uint64_t patience = std::max(patience_ns(requester.request), psn::network_disorder_ns);
    responses_received(requester, now_ns - static_cast<std::int64_t>(patience), frame);
}

/// The requester has had all responses that were found missing before `since_ns`.
void RoceTracker::responses_received(Flow& requester, std::int64_t since_ns, std::uint64_t frame) {
    RequestState& request = requester.request;
    if (requester.reverse == no_flow) return;
    Flow& carrier = store_.table[requester.reverse];
    if (carrier.trouble == Flow::no_block) return;
    FlowTrouble& trouble = store_.troubles[carrier.trouble];
    bool remains = false;
    const std::uint32_t count = received_missing(trouble.missing_responses, since_ns, remains);
    request.lacks_responses = remains;
    if (count == 0) return;
    ResponseState& responses = store_.responder(carrier);
    responses.missing -= std::min(responses.missing, count);
    trouble.unseen_acknowledged += count;
    store_.show(carrier, EventKind::ack_unseen, frame, count);
    carrier.request.unobserved = true;
}

/// What a response tells of its request where the tap has not seen that: the responder has had it. Of the PSNs that a
/// READ takes, one is a packet of the requester's.
void RoceTracker::request_of_response(Flow& requester, Flow& carrier, const PacketRecord& record,
                                      const wire::BthOpcode& opcode, bool continues) {
    RequestState& request = requester.request;
    const std::uint64_t position = psn::position_of(record.psn, request.next);
    if (position >= request.next) {
        const std::uint64_t requests = continues ? 0 : position - request.next + 1;
        return beyond_seen(requester, position, requests, record);
    }
    if (!request.lacking || opcode.starts_message() || requester.trouble == Flow::no_block) return;
    // One behind the first that passed of these responses is no request's own.
    const std::uint64_t first = store_.responder(carrier).message_position;
    const std::uint64_t begin = continues && first < position ? first + 1 : position;
    const std::uint32_t taken = forget_missing(store_.troubles[requester.trouble].missing, begin, position + 1);
    request.missing -= std::min(request.missing, taken);
}

/// The responder has had what lies before `position` and at it; the requester may still lack responses.
void RoceTracker::received(Flow& requester, std::uint64_t position, const PacketRecord& answer) {
    RequestState& request = requester.request;
    if (position >= request.next && position - request.next < request.read_slack) extend_read(requester, position + 1);
    if (position >= request.next) beyond_seen(requester, position, position + 1 - request.next, answer);
    if (request.lacking && position >= request.acknowledged) settle_holes(requester, position + 1, answer.frame);
}

void RoceTracker::acknowledge(Flow& requester, std::uint64_t position, const PacketRecord& answer) {
    RequestState& request = requester.request;
    if (request.next == 0) return;
    received(requester, position, answer);
    if (position < request.acknowledged) return;
    request.acknowledged = position + 1;
    if (request.recovering) {
        const std::uint64_t doubtful = store_.trouble(requester).doubtful;
        if (doubtful != 0 && doubtful <= position) requester.ledger.mark_again(store_.rings, doubtful);
    }
    if (store_.watch != nullptr) [[unlikely]]
        store_.watch->acknowledged(requester, position, answer.time_ns, true);
    settle(requester, position, answer.time_ns);
    if (request.recovering) {
        FlowTrouble& trouble = store_.trouble(requester);
        trouble.recovery.acknowledged(position, [&](auto what, std::uint64_t value) {
            if constexpr (std::is_same_v<decltype(what), EventKind>) store_.show(requester, what, answer.frame, value);
        });
        request.recovering = trouble.recovery.busy();
    }
}

void RoceTracker::response(FlowIndex index, const PacketRecord& record, const wire::BthOpcode& opcode) {
    Flow* const requester = requester_of(index, record);
    Flow& flow = store_.table[index];
    ResponseState& responses = store_.responder(flow);
    const bool known = requester != nullptr && requester->request.next != 0;
    const bool first_seen = responses.next == 0;
    if (first_seen)
        responses.next = psn::first_position + record.psn - (known ? awaited_before(*requester, record) : 0);
    const std::int32_t ahead = psn::difference(record.psn, responses.next);
    const std::uint64_t here = psn::position_of(record.psn, responses.next);
    if (!opcode.ends_message())
        responses.mtu_payload = static_cast<std::uint16_t>(std::min<std::uint32_t>(record.payload_length, 0xffff));
    if (known) learn_extent(*requester, record, opcode);
    Situation situation;
    situation.response = true;
    const bool past = ahead < 0 && ahead > psn::another_life_behind;
    if (past && !past_response(known ? requester : nullptr, flow, record, opcode, here)) return;
    if (opcode.starts_message()) responses.incomplete = false;
    const bool continues = responses.in_response && !opcode.starts_message();
    if (past) {
        // Responses come again because their request did: the responder was told.
        ++responses.repeated;
        situation.again = true;
        if (!responses.repeating) {
            situation.cause = RepeatCause::nak;
            store_.show(flow, EventKind::retransmission, record.frame, 1);
        }
        responses.repeating = true;
    } else {
        responses.repeating = false;
        if (ahead > 0 && (!opcode.starts_message() || (known && skips_read(*requester, record)))) {
            // What goes on with a response follows another packet of it.
            const bool surely = !opcode.starts_message() && !first_seen;
            const std::uint64_t sure = continues ? responses.next : surely ? here - 1 : here;
            miss_responses(known ? requester : nullptr, flow, record, {responses.next, sure, here}, continues);
            if (surely) responses.incomplete = true;
        }
        flow.counts.payload_bytes += record.payload_length;
        situation.mid_message = continues;
        responses.next = here + 1;
    }
    close_gap(flow, record, situation);
    const bool lacked = requester != nullptr && lacks_credit(flow, *requester);
    const bool has_aeth = opcode.starts_message() || opcode.ends_message();
    if (has_aeth && wire::kind_of_syndrome(record.syndrome) == wire::AethKind::ack)
        take_credits(flow, requester, record);
    responses.in_response = !opcode.ends_message();
    if (opcode.ends_message()) responses.message_end_ns = record.time_ns;
    flow.request.last_data_ns = psn::later(flow.request.last_data_ns, record.time_ns);
    if (!known) return;
    if (requester->request.lacks_responses) settle_responses(*requester, record.time_ns, record.frame);
    if (!situation.again) request_of_response(*requester, flow, record, opcode, continues);
    answered(*requester, flow, record, opcode);
    if (lacked && !lacks_credit(flow, *requester)) requester->request.credit_freed_ns = record.time_ns;
}

/// A response behind others that have passed: whether it was sent again. A responder does that where its requester asks
/// again, and for nothing else; where no such request has passed, the network has delayed or doubled it. Much later the
/// capture may have lost the request.
bool RoceTracker::past_response(Flow* requester, Flow& carrier, const PacketRecord& record,
                                const wire::BthOpcode& opcode, std::uint64_t here) {
    ResponseState& responses = store_.responder(carrier);
    FlowTrouble& trouble = store_.trouble(carrier);
    MissingRanges::Range hole;
    const bool fills = take_missing(trouble.missing_responses, here, hole);
    const std::uint64_t position = requester == nullptr ? 0 : psn::position_of(record.psn, requester->request.next);
    const std::int64_t since_ns = fills ? hole.noticed_ns : carrier.request.last_data_ns;
    const bool asked =
        requester == nullptr || is_asked_again(*requester, position) || hole.refused || hole.acknowledged;
    const bool again = asked || psn::elapsed(since_ns, record.time_ns) >= psn::network_disorder_ns;
    if (fills)
        carrier.counts.payload_bytes += record.payload_length;
    else if (store_.watch != nullptr)
        store_.watch->witness.repeats(carrier.id, record.frame, record.repeats_frame);
    if (again) {
        if (hole.acknowledged && trouble.unseen_acknowledged > 0) {
            // The requester noticed late that it lacks them.
            --trouble.unseen_acknowledged;
            ++responses.missing;
        }
        // Then those that follow were asked for by the same request.
        if (!asked) ask_again(store_.trouble(*requester), position + 1, position + (responses.next - here), false);
    } else if (fills) {
        if (hole.counted && responses.missing > 0) --responses.missing;
        if (hole.answered && here == hole.begin) {
            // An acknowledgement alone has passed it, or is stamped early: among responses it is the next one.
            Situation situation;
            situation.response = true;
            situation.mid_message = !opcode.starts_message();
            close_gap(carrier, record, situation);
            carrier.request.last_data_ns = psn::later(carrier.request.last_data_ns, record.time_ns);
        } else {
            ++carrier.request.reordered;
            store_.show(carrier, EventKind::reordered, record.frame, responses.next - here);
        }
        late_response(*requester, carrier, record, opcode, here);
    } else {
        ++carrier.request.duplicates;
        store_.show(carrier, EventKind::duplicate, record.frame);
    }
    return again;
}

/// Whether its requester has asked again for that response. It may have done so more than once.
bool RoceTracker::is_asked_again(const Flow& requester, std::uint64_t position) const {
    const FlowTrouble* const trouble = store_.trouble_of(requester);
    return trouble != nullptr && position >= trouble->asked_begin && position < trouble->asked_end;
}

/// Later responses had overtaken it. What waited for it alone is complete now.
void RoceTracker::late_response(Flow& requester, Flow& carrier, const PacketRecord& record,
                                const wire::BthOpcode& opcode, std::uint64_t here) {
    RequestState& request = requester.request;
    ResponseState& responses = store_.responder(carrier);
    const std::uint64_t position = psn::position_of(record.psn, request.next);
    const std::uint64_t apart = here - position;
    const OutstandingMessage* const oldest = requester.ledger.oldest_response(store_.rings, 0);
    if (opcode.starts_message() && (oldest == nullptr || oldest->position >= position))
        first_response(requester, position, record);
    if (opcode.ends_message()) responses.message_end_ns = psn::later(responses.message_end_ns, record.time_ns);
    std::uint64_t end = responses.next;
    responses.incomplete = false;
    for (const MissingRanges::Range& range : store_.trouble(carrier).missing_responses.ranges) {
        if (range.begin == range.end || range.acknowledged || range.end <= request.acknowledged + apart) continue;
        end = std::min(end, range.begin);
        if (range.end > responses.message_position + apart && range.begin < responses.next) responses.incomplete = true;
    }
    if (end == responses.next && gap_known(requester))
        store_.troubles[requester.trouble].response_gap_ns = Situation::never;
    const std::uint32_t responses_before = requester.ledger.responses();
    if (end > here) acknowledge(requester, end - apart - 1, record);
    if (requester.ledger.responses() < responses_before) request.response_ns = record.time_ns;
}

/// How many PSNs before the first response seen its requester may still wait for.
std::uint64_t RoceTracker::awaited_before(const Flow& requester, const PacketRecord& response) {
    const RequestState& request = requester.request;
    const std::uint64_t position = psn::position_of(response.psn, request.next);
    return position > request.acknowledged && position <= request.next ? position - request.acknowledged : 0;
}

/// Whether one that starts a response leaves out an older READ, and not only other requests' PSNs.
bool RoceTracker::skips_read(Flow& requester, const PacketRecord& response) {
    const OutstandingMessage* const oldest = requester.ledger.oldest_response(store_.rings, 0);
    return oldest != nullptr && oldest->position < psn::position_of(response.psn, requester.request.next);
}

/// How many PSNs the response to a READ or atomic takes, at the most.
std::uint64_t RoceTracker::awaited_span(const Flow& requester, const OutstandingMessage& message) const {
    const bool read = static_cast<Operation>(static_cast<unsigned>(message.operation)) == Operation::read;
    if (!read && message.merged == 0) return 1;
    const std::uint64_t span = read_span(requester, message.bytes);
    return span != 0 ? span : psn::slack_of(message.bytes, requester.request.mtu_exponent) + 1u;
}

/// Calls found(begin, end, sure) for each stretch of [from, to) that responses take that are waited for; all in the
/// requester's positions. Of READs that were merged it is not known which PSNs were other requests'.
template <class Found>
void RoceTracker::awaited_responses(const Flow& requester, std::uint64_t from, std::uint64_t to, Found&& found) const {
    std::uint64_t before = from;
    requester.ledger.look(Ledger::max_position, [&](const OutstandingMessage& message) {
        const std::uint64_t behind = message.position + 1;
        std::uint64_t begin = before;
        before = std::max(before, behind);
        const bool merged = message.merged != 0;
        if (message.responses == 0) return;
        const std::uint64_t span = awaited_span(requester, message);
        if (!merged && behind > span) begin = std::max(begin, behind - span);
        const std::uint64_t end = std::min(behind, to);
        if (begin < end) found(begin, end, !merged);
    });
}

/// The response packet is ahead of what was expected, `skipped.begin`: which responses have not passed? Those that
/// READs wait for, as the ledger has them; else those from `skipped.sure` on.
void RoceTracker::miss_responses(Flow* requester, Flow& carrier, const PacketRecord& record, const Skipped& skipped,
                                 bool continues) {
    MissingRanges::Range stretch{.noticed_ns = record.time_ns, .answered = skipped.answered};
    std::uint64_t first = 0;
    std::uint32_t count = 0;
    const auto note = [&] {
        if (stretch.begin == stretch.end) return;
        if (first == 0) first = stretch.begin;
        if (stretch.counted) count += static_cast<std::uint32_t>(stretch.end - stretch.begin);
        note_missing(store_.trouble(carrier).missing_responses, stretch);
    };
    const auto found = [&](std::uint64_t begin, std::uint64_t end, bool sure) {
        if (begin != stretch.end || sure != stretch.counted) {
            note();
            stretch.begin = begin;
            stretch.counted = sure;
        }
        stretch.end = end;
    };
    if (requester != nullptr) {
        // The requester's positions are others.
        const std::uint64_t apart = skipped.end - psn::position_of(record.psn, requester->request.next);
        awaited_responses(*requester, skipped.begin - apart, skipped.end - apart,
                          [&](std::uint64_t begin, std::uint64_t end, bool sure) {
                              found(begin + apart, end + apart, sure || continues);
                          });
    }
    if (stretch.end == 0 && skipped.sure < skipped.end) found(skipped.sure, skipped.end, true);
    note();
    if (count > 0) {
        store_.responder(carrier).missing += count;
        store_.show(carrier, EventKind::gap, record.frame, count);
    }
    if (requester == nullptr || first == 0) return;
    if (count > 0) requester->request.lacks_responses = true;
    // While one is missing the requester drops responses to later READs.
    if (continues || !gap_known(*requester))
        lost_response(*requester, record, psn::position_of(static_cast<std::uint32_t>(first), requester->request.next));
}

/// Whether an answer to the request at `position` leaves out the response to a READ or atomic before it. Of merged ones
/// it is not known which they were.
bool RoceTracker::skips_response(Flow& requester, std::uint64_t position) {
    const OutstandingMessage* const oldest = requester.ledger.oldest_response(store_.rings, 0);
    return oldest != nullptr && oldest->position < position && oldest->merged == 0;
}

/// The first PSN of the responses that an entry of the ledger waits for.
std::uint64_t RoceTracker::awaited_from(const Flow& requester, const OutstandingMessage& message) const {
    const std::uint64_t behind = message.position + 1;
    return behind - std::min<std::uint64_t>(std::max<std::uint64_t>(awaited_span(requester, message), 1), behind);
}

/// An answer to the request at `position`, with which all before `end` has been received, while the response to a READ
/// or atomic before it has not passed. Responders answer in the order of PSNs, so that response was lost, and its
/// requester asks again. IBTA vol. 1, 9.7.5.2.8. Returns whether anything waits for it.
bool RoceTracker::waits_for_response(Flow& requester, Flow& carrier, const PacketRecord& record, std::uint64_t position,
                                     std::uint64_t end) {
    if (!skips_response(requester, position)) return false;
    if (gap_known(requester)) {
        std::int64_t newest_ns = Situation::never;
        requester.ledger.look(position, [&](const OutstandingMessage& message) { newest_ns = message.last_ns; });
        if (went_on(requester, newest_ns)) {
            give_up_responses(requester, position);
            return false;
        }
    }
    const OutstandingMessage oldest = *requester.ledger.oldest_response(store_.rings, 0);
    const std::uint64_t begin = std::max(awaited_from(requester, oldest), requester.request.acknowledged);
    ResponseState& responses = store_.responder(carrier);
    if (responses.next == 0) responses.next = psn::first_position + record.psn - awaited_before(requester, record);
    const std::uint64_t here = psn::position_of(record.psn, responses.next);
    if (here > responses.next) {
        miss_responses(&requester, carrier, record, {responses.next, here, here, true}, false);
        // An acknowledgement of a READ is none of its responses.
        const OutstandingMessage* const mine = requester.ledger.oldest_response(store_.rings, position);
        const std::uint64_t behind = mine == nullptr ? end : std::min(end, awaited_from(requester, *mine));
        responses.next = here - position + behind;
        responses.in_response = false;
    }
    if (!gap_known(requester)) lost_response(requester, record, begin);
    received(requester, end - 1, record);
    // How long others took to be acknowledged will not be known: their requester cannot complete them before.
    requester.ledger.mark_again(store_.rings, oldest.position, end - 1);
    acknowledge(requester, begin - 1, record);
    return true;
}

/// Whether the requester sent something so long after responses began to be missing that it would have asked again
/// before, had it lacked them: the tap has missed what it got.
bool RoceTracker::went_on(const Flow& requester, std::int64_t sent_ns) const {
    const std::int64_t gap_ns = store_.troubles[requester.trouble].response_gap_ns;
    return sent_ns > gap_ns && psn::elapsed(gap_ns, sent_ns) > patience_ns(requester.request);
}

/// What waits for responses up to `position` has had them, nobody knows when.
void RoceTracker::give_up_responses(Flow& requester, std::uint64_t position) {
    store_.troubles[requester.trouble].response_gap_ns = Situation::never;
    OutstandingMessage* waiting = requester.ledger.oldest_response(store_.rings, 0);
    for (; waiting != nullptr && waiting->position < position;
         waiting = requester.ledger.oldest_response(store_.rings, waiting->position + 1))
        waiting->again = 1;
}

/// A new message, with which more would be outstanding than ever before, while a response is missing: its requester has
/// had that, and the tap has missed it. So has it whatever else it had answers to.
void RoceTracker::release_responses(Flow& requester, const PacketRecord& record, const wire::BthOpcode& opcode) {
    const Ledger& ledger = requester.ledger;
    const bool full = ledger.messages() >= ledger.messages_max() ||
                      (wants_response(operation_of(opcode)) && ledger.responses() >= ledger.responses_max());
    if (!full || !opcode.starts_message() || requester.reverse == no_flow) return;
    const ResponseState* const responses = store_.responder_of(store_.table[requester.reverse]);
    if (responses == nullptr) return;
    const std::uint64_t end = psn::position_of(static_cast<std::uint32_t>(responses->next), requester.request.next);
    if (end > requester.request.next || !skips_response(requester, end)) return;
    give_up_responses(requester, end);
    responses_received(requester, record.time_ns, record.frame);
    acknowledge(requester, end - 1, record);
}

/// A response to a later READ, or a later response to the same, while one is missing: as good as a NAK. IBTA 9.7.5.2.8.
void RoceTracker::lost_response(Flow& requester, const PacketRecord& record, std::uint64_t position) {
    FlowTrouble& trouble = store_.trouble(requester);
    if (!requester.request.recovering)
        trouble.recovery.resume(requester.request.next, requester.request.acknowledged, requester.request.last_data_ns);
    const bool heeded = trouble.recovery.response_missing(record.time_ns, position);
    if (heeded && store_.watch != nullptr) store_.watch->signals(requester).response_frame = record.frame;
    requester.request.recovering = trouble.recovery.busy();
    if (trouble.response_gap_ns == Situation::never) trouble.response_gap_ns = record.time_ns;
}

bool RoceTracker::gap_known(const Flow& requester) const {
    const FlowTrouble* const trouble = store_.trouble_of(requester);
    return trouble != nullptr && trouble->response_gap_ns != Situation::never;
}

/// The response begins with the packet at `position`.
void RoceTracker::first_response(Flow& requester, std::uint64_t position, const PacketRecord& record) {
    OutstandingMessage* const read = requester.ledger.oldest_response(store_.rings, position);
    if (read == nullptr || read->responded || read->again || read->merged ||
        static_cast<Operation>(static_cast<unsigned>(read->operation)) != Operation::read)
        return;
    read->responded = 1;
    if (record.time_ns < read->last_ns) return;
    const std::uint64_t latency = psn::elapsed(read->last_ns, record.time_ns);
    store_.record(requester, FlowHistogram::first_response, latency);
    psn::keep_least(requester.request.round_trip_min_ns, latency);
}

void RoceTracker::answered(Flow& requester, Flow& carrier, const PacketRecord& record, const wire::BthOpcode& opcode) {
    ResponseState& responses = store_.responder(carrier);
    RequestState& request = requester.request;
    const std::uint64_t position = psn::position_of(record.psn, request.next);
    OutstandingMessage* const oldest = requester.ledger.oldest_response(store_.rings, 0);
    if (opcode.starts_message()) {
        responses.message_position = position;
        const bool skipped = oldest != nullptr && oldest->position < position && oldest->merged == 0;
        if (skipped) {
            // The oldest READ or atomic was not answered to its end: its responses were lost, here or before the tap.
            if (!gap_known(requester))
                lost_response(requester, record, std::max(oldest->position, request.acknowledged));
        } else if (position <= request.next) {
            acknowledge(requester, position - 1, record);
        }
        if (!skipped) first_response(requester, position, record);
    }
    if (!opcode.ends_message() || responses.incomplete) return;
    if (gap_known(requester)) {
        // Until the missing one has come, the requester drops what follows. Where it goes on all the same, for READs
        // that it posted long after, the tap has missed what the requester got.
        const OutstandingMessage* const waiting = requester.ledger.oldest_response(store_.rings, 0);
        if (waiting != nullptr && waiting->merged == 0 && waiting->position < responses.message_position) {
            const OutstandingMessage* const mine =
                requester.ledger.oldest_response(store_.rings, responses.message_position);
            if (mine == nullptr || !went_on(requester, mine->last_ns)) return;
            give_up_responses(requester, responses.message_position);
        }
        store_.troubles[requester.trouble].response_gap_ns = Situation::never;
    }
    const std::uint32_t responses_before = requester.ledger.responses();
    acknowledge(requester, position, record);
    if (requester.ledger.responses() < responses_before) request.response_ns = record.time_ns;
}

/// Acknowledgements have credits, and so has each response with an AETH. IBTA vol. 1, 9.7.7.2.
void RoceTracker::take_credits(Flow& carrier, Flow* requester, const PacketRecord& record) {
    if (!note_credits(carrier, record.syndrome) || requester == nullptr) return;
    ++store_.trouble(carrier).credits_exhausted;
    store_.show(*requester, EventKind::credit_exhausted, record.frame);
}

/// A NAK or RNR NAK: it acknowledges what lies before it and names what must come again. IBTA vol. 1, 9.7.5.2.8.
void RoceTracker::refused(Flow& carrier, Flow* requester, const PacketRecord& record) {
    FlowTrouble& trouble = store_.trouble(carrier);
    const std::uint8_t value = wire::value_of_syndrome(record.syndrome);
    const bool rnr = wire::kind_of_syndrome(record.syndrome) == wire::AethKind::rnr_nak;
    Flow& shown = requester != nullptr ? *requester : carrier;
    if (rnr) {
        ++trouble.rnr_naks;
        const std::uint64_t timer_ns = std::uint64_t{wire::rnr_timer_us[value]} * 1000;
        store_.record(shown, FlowHistogram::rnr_timer, timer_ns);
        store_.show(shown, EventKind::rnr_nak, record.frame, timer_ns);
    } else {
        const auto code = std::min<std::size_t>(value, nak_code_count - 1);
        ++trouble.naks[code];
        store_.show(shown, EventKind::nak, record.frame, code);
    }
    if (requester == nullptr || requester->request.next == 0) return;
    RequestState& request = requester->request;
    const std::uint64_t position = psn::position_of(record.psn, request.next);
    if (position > request.next) {
        acknowledge(*requester, position - 1, record);
        return;
    }
    const NakKind kind = rnr ? NakKind::rnr : value == 0 ? NakKind::sequence : NakKind::other;
    // It asks for a request, and no response.
    if (kind == NakKind::sequence && request.read_guessed) shorten_read(*requester, position, record);
    FlowTrouble& recovering = store_.trouble(*requester);
    recovering.last_nak_ns = record.time_ns;
    if (!request.recovering) recovering.recovery.resume(request.next, request.acknowledged, request.last_data_ns);
    const std::int64_t sent_ns = position == request.last_position ? request.last_data_ns : Situation::never;
    std::optional<std::uint64_t> generation_ns;
    const auto report = [&](auto what, std::uint64_t figure) {
        if constexpr (std::is_same_v<decltype(what), EventKind>) {
            store_.show(*requester, what, record.frame, figure);
        } else if (what == RecoveryStep::nak_generation) {
            store_.record(*requester, FlowHistogram::nak_generation, figure);
            generation_ns = figure;
        }
    };
    const bool heeded = recovering.recovery.nak(record.time_ns, position, kind, sent_ns, report);
    if (heeded && store_.watch != nullptr) {
        Watch::Signals& signals = store_.watch->signals(*requester);
        signals.note_nak(record.frame, signals.past_hole_frame, generation_ns);
    }
    request.recovering = recovering.recovery.busy();
    if (kind == NakKind::sequence && request.lacking && requester->trouble != Flow::no_block)
        refuse_missing(recovering.missing, position);
    // It acknowledges what lies before it; recovery knows that already.
    if (!waits_for_response(*requester, carrier, record, position, position))
        acknowledge(*requester, position - 1, record);
}

void RoceTracker::acknowledgement(FlowIndex index, const PacketRecord& record) {
    Flow* const requester = requester_of(index, record);
    Flow& flow = store_.table[index];
    flow.count_acknowledgement();
    const wire::AethKind kind = wire::kind_of_syndrome(record.syndrome);
    if (kind == wire::AethKind::rnr_nak || kind == wire::AethKind::nak) {
        refused(flow, requester, record);
        return;
    }
    if (kind == wire::AethKind::reserved) return;
    const bool lacked = requester != nullptr && lacks_credit(flow, *requester);
    take_credits(flow, requester, record);
    if (requester == nullptr || requester->request.next == 0) return;
    const std::uint64_t position = psn::position_of(record.psn, requester->request.next);
    if (!waits_for_response(*requester, flow, record, position, position + 1))
        acknowledge(*requester, position, record);
    if (lacked && !lacks_credit(flow, *requester)) requester->request.credit_freed_ns = record.time_ns;
}

/// A CNP tells the sender of the reverse flow to slow down. IBTA annex A17.
void RoceTracker::notification(Flow& flow, const PacketRecord& record) {
    FlowTrouble& trouble = store_.trouble(flow);
    Flow& throttled = flow.reverse != no_flow ? store_.table[flow.reverse] : flow;
    ++trouble.cnps;
    if (trouble.last_cnp_ns != Situation::never)
        store_.record(throttled, FlowHistogram::cnp_interval, psn::elapsed(trouble.last_cnp_ns, record.time_ns));
    trouble.last_cnp_ns = record.time_ns;
    store_.show(throttled, EventKind::cnp, record.frame);
    store_.trouble(throttled).rate.signal(record.time_ns);
}

}  // namespace metrics
