#include "metrics/measure/roce/lost_responses.h"

#include <algorithm>

#include "base/clock.h"
#include "metrics/measure/packet/packet_operation.h"
#include "metrics/measure/packet/psn.h"
#include "metrics/measure/roce/missing.h"

namespace metrics::inline measure::inline roce {

namespace {

/// A requester that lacks responses asks for them again within this time.
std::uint64_t response_patience_ns(const RequestState& request) {
    return 10 * (request.round_trip_min_ns != 0xffffffff ? std::uint64_t{request.round_trip_min_ns}
                                                         : psn::network_disorder_ns);
}

}  // namespace

void LostResponses::settle(Flow& requester, std::int64_t now_ns, std::uint64_t frame) {
    const std::uint64_t patience = std::max(response_patience_ns(requester.request), psn::network_disorder_ns);
    receive(requester, base::earlier(now_ns, patience), frame);
}

/// The requester has received all responses that were found missing before `since_ns`.
void LostResponses::receive(Flow& requester, std::int64_t since_ns, std::uint64_t frame) {
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

void LostResponses::note_skipped(Flow* requester, Flow& carrier, const PacketRecord& record, const Skipped& skipped,
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
        awaited_.find(*requester, skipped.begin - apart, skipped.end - apart,
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
    if (continues || !has_gap(*requester))
        note_lost(*requester, record, psn::position_of(static_cast<std::uint32_t>(first), requester->request.next));
}

bool LostResponses::wait(Flow& requester, Flow& carrier, const PacketRecord& record, std::uint64_t position,
                         std::uint64_t end) {
    if (!awaited_.are_skipped(requester, position)) return false;
    if (has_gap(requester)) {
        std::int64_t newest_ns = Situation::never;
        requester.ledger.look(position, [&](const OutstandingMessage& message) { newest_ns = message.last_ns; });
        if (went_on(requester, newest_ns)) {
            give_up(requester, position);
            return false;
        }
    }
    const OutstandingMessage oldest = *requester.ledger.oldest_response(store_.rings, 0);
    const std::uint64_t begin = std::max(awaited_.begin_of(requester, oldest), requester.request.acknowledged);
    ResponseState& responses = store_.responder(carrier);
    if (responses.next == 0)
        responses.next = psn::first_position + record.psn - AwaitedResponses::count_before(requester, record);
    const std::uint64_t here = psn::position_of(record.psn, responses.next);
    if (here > responses.next) {
        note_skipped(&requester, carrier, record, {responses.next, here, here, true}, false);
        // An acknowledgement of a READ is not one of its responses.
        const OutstandingMessage* const mine = requester.ledger.oldest_response(store_.rings, position);
        const std::uint64_t after = mine == nullptr ? end : std::min(end, awaited_.begin_of(requester, *mine));
        responses.next = here - position + after;
        responses.in_response = false;
    }
    if (!has_gap(requester)) note_lost(requester, record, begin);
    requests_.receive(requester, end - 1, record);
    // How long others took to be acknowledged will not be known: their requester cannot complete them before.
    requester.ledger.mark_again(store_.rings, oldest.position, end - 1);
    requests_.acknowledge(requester, begin - 1, record);
    return true;
}

bool LostResponses::holds_back(Flow& requester, std::uint64_t position) {
    if (!has_gap(requester)) return false;
    const OutstandingMessage* const waiting = requester.ledger.oldest_response(store_.rings, 0);
    if (waiting != nullptr && waiting->merged == 0 && waiting->position < position) {
        const OutstandingMessage* const mine = requester.ledger.oldest_response(store_.rings, position);
        if (mine == nullptr || !went_on(requester, mine->last_ns)) return true;
        give_up(requester, position);
    }
    end_gap(requester);
    return false;
}

/// Whether the requester sent something so long after responses began to be missing that it would have asked again
/// before if it lacked them: the tap has missed what it got.
bool LostResponses::went_on(const Flow& requester, std::int64_t sent_ns) const {
    const std::int64_t gap_ns = store_.troubles[requester.trouble].response_gap_ns;
    return sent_ns > gap_ns && psn::elapsed(gap_ns, sent_ns) > response_patience_ns(requester.request);
}

/// What waits for responses up to `position` has had them, at a time that is not known.
void LostResponses::give_up(Flow& requester, std::uint64_t position) {
    store_.troubles[requester.trouble].response_gap_ns = Situation::never;
    OutstandingMessage* waiting = requester.ledger.oldest_response(store_.rings, 0);
    for (; waiting != nullptr && waiting->position < position;
         waiting = requester.ledger.oldest_response(store_.rings, waiting->position + 1))
        waiting->again = 1;
}

void LostResponses::release(Flow& requester, const PacketRecord& record, const wire::BthOpcode& opcode) {
    const Ledger& ledger = requester.ledger;
    const bool full = ledger.messages() >= ledger.messages_max() ||
                      (wants_response(operation_of(opcode)) && ledger.responses() >= ledger.responses_max());
    if (!full || !opcode.starts_message() || requester.reverse == no_flow) return;
    const ResponseState* const responses = store_.responder_of(store_.table[requester.reverse]);
    if (responses == nullptr) return;
    const std::uint64_t end = psn::position_of(static_cast<std::uint32_t>(responses->next), requester.request.next);
    if (end > requester.request.next || !awaited_.are_skipped(requester, end)) return;
    give_up(requester, end);
    receive(requester, record.time_ns, record.frame);
    requests_.acknowledge(requester, end - 1, record);
}

void LostResponses::note_lost(Flow& requester, const PacketRecord& record, std::uint64_t position) {
    FlowTrouble& trouble = store_.trouble(requester);
    if (!requester.request.recovering)
        trouble.recovery.resume(requester.request.next, requester.request.acknowledged, requester.request.last_data_ns);
    const bool noticed = trouble.recovery.response_missing(record.time_ns, position);
    if (noticed)
        store_.observe([&](ObservedFlows& observed) { observed.signals(requester).response_frame = record.frame; });
    requester.request.recovering = trouble.recovery.busy();
    if (trouble.response_gap_ns == Situation::never) trouble.response_gap_ns = record.time_ns;
}

void LostResponses::end_gap(Flow& requester) {
    if (requester.trouble != Flow::no_block) store_.troubles[requester.trouble].response_gap_ns = Situation::never;
}

}  // namespace metrics::measure::roce
