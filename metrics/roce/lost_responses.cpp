// Responses that have not passed: which ones, whether their requester lacks them, and what waits for them.
#include <algorithm>

#include "metrics/roce/missing.h"
#include "metrics/roce/moved.h"
#include "metrics/roce/psn.h"
#include "metrics/roce/roce_tracker.h"

namespace metrics {

namespace {

/// A requester that lacks responses asks for them again within this.
std::uint64_t response_patience_ns(const RequestState& request) {
    return 10 * (request.round_trip_min_ns != 0xffffffff ? std::uint64_t{request.round_trip_min_ns}
                                                         : psn::network_disorder_ns);
}

}  // namespace

/// The conversation goes on though responses have not passed: their requester would have asked for them again, had it
/// noticed that it lacks them. IBTA vol. 1, 9.7.5.2.8.
void RoceTracker::settle_responses(Flow& requester, std::int64_t now_ns, std::uint64_t frame) {
    const std::uint64_t patience = std::max(response_patience_ns(requester.request), psn::network_disorder_ns);
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
    return sent_ns > gap_ns && psn::elapsed(gap_ns, sent_ns) > response_patience_ns(requester.request);
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

}  // namespace metrics
