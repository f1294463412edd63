#include "metrics/measure/roce/roce_answers.h"

#include <algorithm>
#include <optional>

#include "metrics/measure/packet/psn.h"
#include "metrics/measure/roce/credit.h"
#include "metrics/measure/roce/missing.h"
#include "wire/aeth.h"

namespace metrics::inline measure::inline roce {

namespace {

NakKind kind_of_refusal(std::uint8_t syndrome) {
    if (wire::kind_of_syndrome(syndrome) == wire::AethKind::rnr_nak) return NakKind::rnr;
    return wire::value_of_syndrome(syndrome) == 0 ? NakKind::sequence : NakKind::other;
}

std::uint64_t rnr_timer_ns(std::uint8_t syndrome) {
    return std::uint64_t{wire::rnr_timer_us[wire::value_of_syndrome(syndrome)]} * 1000;
}

}  // namespace

void RoceAnswers::on_acknowledgement(const RocePacket& packet) {
    const PacketRecord& record = packet.record;
    FlowIndex index = packet.flow;
    Flow* const requester = requests_.requester_of(index, record);
    Flow& flow = store_.table[index];
    flow.count_acknowledgement();
    const wire::AethKind kind = wire::kind_of_syndrome(record.syndrome);
    if (kind == wire::AethKind::rnr_nak || kind == wire::AethKind::nak) {
        on_refusal(flow, requester, record);
        return;
    }
    if (kind == wire::AethKind::reserved) return;
    const bool lacked = requester != nullptr && lacks_credit(flow, *requester);
    requests_.note_credits(flow, requester, record);
    if (requester == nullptr || requester->request.next == 0) return;
    const std::uint64_t position = psn::position_of(record.psn, requester->request.next);
    store_.note_answer(*requester, record.frame);
    if (position < requester->request.acknowledged) store_.note_repeated_answer(*requester);
    if (!lost_.wait(*requester, flow, record, position, position + 1))
        requests_.acknowledge(*requester, position, record);
    if (lacked && !lacks_credit(flow, *requester)) requester->request.credit_freed_ns = record.time_ns;
}

void RoceAnswers::count_refusal(Flow& carrier, Flow& shown, const PacketRecord& record) {
    FlowTrouble& trouble = store_.trouble(carrier);
    const std::uint8_t value = wire::value_of_syndrome(record.syndrome);
    if (kind_of_refusal(record.syndrome) == NakKind::rnr) {
        ++trouble.rnr_naks;
        const std::uint64_t timer_ns = rnr_timer_ns(record.syndrome);
        store_.record(shown, FlowHistogram::rnr_timer, timer_ns);
        store_.show(shown, EventKind::rnr_nak, record.frame, timer_ns);
    } else {
        const auto code = std::min<std::size_t>(value, nak_code_count - 1);
        ++trouble.naks[code];
        store_.show(shown, EventKind::nak, record.frame, code);
    }
}

/// A NAK or RNR NAK: it acknowledges what lies before it and names what must come again. IBTA vol. 1, 9.7.5.2.8.
void RoceAnswers::on_refusal(Flow& carrier, Flow* requester, const PacketRecord& record) {
    count_refusal(carrier, requester != nullptr ? *requester : carrier, record);
    if (requester == nullptr || requester->request.next == 0) return;
    RequestState& request = requester->request;
    const std::uint64_t position = psn::position_of(record.psn, request.next);
    store_.note_answer(*requester, record.frame);
    if (position > request.next) {
        requests_.acknowledge(*requester, position - 1, record);
        return;
    }
    const NakKind kind = kind_of_refusal(record.syndrome);
    // It asks for a request, and no response.
    if (kind == NakKind::sequence && request.read_guessed) extents_.shorten(*requester, position, record);
    FlowTrouble& recovering = store_.trouble(*requester);
    std::ranges::replace(recovering.damaged, position, std::uint64_t{0});
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
    if (kind == NakKind::sequence) recovering.holes.nak(position);
    requester->is_hole_open = recovering.holes.is_open();
    if (kind == NakKind::other) repeated_.end(*requester, position);
    if (kind == NakKind::rnr) repeated_.refuse(*requester, position, rnr_timer_ns(record.syndrome), record);
    // If a response before it is missing, its requester goes back to that.
    const bool waits = lost_.wait(*requester, carrier, record, position, position);
    const bool noticed = !waits && recovering.recovery.nak(record.time_ns, position, kind, sent_ns, report);
    if (noticed)
        store_.observe([&](ObservedFlows& observed) {
            ObservedFlows::Signals& signals = observed.signals(*requester);
            signals.note_nak(record.frame, signals.past_hole_frame, generation_ns);
        });
    request.recovering = recovering.recovery.busy();
    if (kind == NakKind::sequence && request.lacking && requester->trouble != Flow::no_block)
        refuse_missing(recovering.missing, position);
    // It acknowledges what lies before it; recovery knows that already.
    if (!waits) requests_.acknowledge(*requester, position - 1, record);
}

void RoceAnswers::on_notification(const RocePacket& packet) {
    const PacketRecord& record = packet.record;
    Flow& flow = store_.table[packet.flow];
    FlowTrouble& trouble = store_.trouble(flow);
    Flow& throttled = flow.reverse != no_flow ? store_.table[flow.reverse] : flow;
    ++trouble.cnps;
    if (trouble.last_cnp_ns != Situation::never)
        store_.record(throttled, FlowHistogram::cnp_interval, psn::elapsed(trouble.last_cnp_ns, record.time_ns));
    trouble.last_cnp_ns = record.time_ns;
    store_.show(throttled, EventKind::cnp, record.frame);
    store_.trouble(throttled).rate.signal(record.time_ns);
}

}  // namespace metrics::measure::roce
