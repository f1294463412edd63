#include "metrics/measure/roce/answered_requests.h"

#include <algorithm>

#include "metrics/measure/roce/credit.h"
#include "metrics/measure/roce/missing.h"

namespace metrics::inline measure::inline roce {

Flow* AnsweredRequests::requester_of(FlowIndex& carrier, const PacketRecord& record) {
    Flow* flow = &store_.table[carrier];
    if (flow->reverse != no_flow) {
        Flow& requester = store_.table[flow->reverse];
        const bool guessed = requester.pairing == PairingMethod::psn;
        // Queue pairs that CM has connected may be used again without it.
        if ((!guessed && !requester.finished) || requester.request.next == 0) return &requester;
        const std::int32_t ahead = psn::difference(record.psn, requester.request.next);
        if (!requester.finished && ahead < psn::idle_successor_ahead / 4 && ahead > psn::successor_behind) {
            if (flow->pairing_percent < confirmed_percent && ahead <= 0)
                flow->pairing_percent = requester.pairing_percent = confirmed_percent;
            return &requester;
        }
        if (requester.finished && ahead <= 0 && ahead > psn::idle_successor_behind) return &requester;  // a late answer
        if (flow->pairing_percent >= confirmed_percent && !Tracking::has_unsteady_psn(*flow)) {
            // Its partner is certain, and now it answers another requester: the QPN belongs to another connection.
            carrier = tracking_.begin_successor(carrier, record);
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

void AnsweredRequests::receive_unseen(Flow& requester, std::uint64_t position, std::uint64_t packets,
                                      const PacketRecord& answer) {
    RequestState& request = requester.request;
    FlowTrouble& trouble = store_.trouble(requester);
    messages_.cut(requester);
    if (request.in_message) {
        // Its end was received, whenever it was; that measures nothing.
        requester.ledger.end(store_.rings, answer.time_ns, request.operation, request.next - 1, 0);
        requester.ledger.mark_again(store_.rings, request.next - 1);
        messages_.leave(requester);
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

void AnsweredRequests::receive(Flow& requester, std::uint64_t position, const PacketRecord& answer) {
    RequestState& request = requester.request;
    if (position >= request.next && position - request.next < request.read_slack)
        extents_.extend(requester, position + 1);
    if (position >= request.next) {
        const std::uint64_t packets = position + 1 - request.next;
        const std::uint64_t damaged = holes_.damaged(requester, request.next, position + 1);
        receive_unseen(requester, position, packets - std::min(packets, damaged), answer);
    }
    if (request.lacking && position >= request.acknowledged) holes_.settle(requester, position + 1, answer.frame);
}

void AnsweredRequests::acknowledge(Flow& requester, std::uint64_t position, const PacketRecord& answer) {
    RequestState& request = requester.request;
    if (request.next == 0) return;
    receive(requester, position, answer);
    if (requester.trouble != Flow::no_block) [[unlikely]]
        holes_.take_damaged(requester, position + 1);
    if (requester.is_hole_open) [[unlikely]] {
        HoleWatch& holes = store_.trouble(requester).holes;
        holes.acknowledged(position);
        requester.is_hole_open = holes.is_open();
    }
    if (position < request.acknowledged) return;
    request.acknowledged = position + 1;
    if (request.recovering) {
        const std::uint64_t doubtful = store_.trouble(requester).doubtful;
        if (doubtful != 0 && doubtful <= position) requester.ledger.mark_again(store_.rings, doubtful);
    }
    store_.observe([&](ObservedFlows& observed) { observed.acknowledged(requester, position, answer.time_ns, true); });
    settle(store_, tracking_.reuse, requester, position, answer.time_ns);
    if (request.recovering) {
        FlowTrouble& trouble = store_.trouble(requester);
        trouble.recovery.acknowledged(position, [&](auto what, std::uint64_t value) {
            if constexpr (std::is_same_v<decltype(what), EventKind>) store_.show(requester, what, answer.frame, value);
        });
        request.recovering = trouble.recovery.busy();
    }
}

void AnsweredRequests::note_credits(Flow& carrier, Flow* requester, const PacketRecord& record) {
    if (!metrics::note_credits(carrier, record.syndrome) || requester == nullptr) return;
    ++store_.trouble(carrier).credits_exhausted;
    store_.show(*requester, EventKind::credit_exhausted, record.frame);
}

}  // namespace metrics::measure::roce
