// What responders send but for responses to READs and atomics: acknowledgements, NAKs, notifications.
#include <algorithm>
#include <optional>

#include "metrics/roce/credit.h"
#include "metrics/roce/missing.h"
#include "metrics/roce/progress.h"
#include "metrics/roce/psn.h"
#include "metrics/roce/roce_tracker.h"
#include "wire/aeth.h"

namespace metrics {

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
    // Where a response before it is missing, its requester goes back to that.
    const bool waits = waits_for_response(*requester, carrier, record, position, position);
    const bool heeded = !waits && recovering.recovery.nak(record.time_ns, position, kind, sent_ns, report);
    if (heeded && store_.watch != nullptr) {
        Watch::Signals& signals = store_.watch->signals(*requester);
        signals.note_nak(record.frame, signals.past_hole_frame, generation_ns);
    }
    request.recovering = recovering.recovery.busy();
    if (kind == NakKind::sequence && request.lacking && requester->trouble != Flow::no_block)
        refuse_missing(recovering.missing, position);
    // It acknowledges what lies before it; recovery knows that already.
    if (!waits) acknowledge(*requester, position - 1, record);
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
