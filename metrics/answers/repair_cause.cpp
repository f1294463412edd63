#include "metrics/answers/repair_cause.h"

#include <algorithm>

#include "metrics/answers/flow_measures.h"
#include "metrics/answers/repairs.h"
#include "metrics/answers/thresholds.h"

namespace metrics::inline answers {

namespace {

std::uint64_t all_sequence_naks(const FlowSnapshot& flow) {
    return flow.naks[static_cast<std::size_t>(NakCode::psn_sequence_error)];
}

/// The ICRC was not filled in yet, or was wrong at the capture point alone, if packets with a bad one were acknowledged
/// and not sent again: a responder drops those that come to it so (IBTA vol. 1, 9.6.1).
bool is_damage_refuted(const FlowSnapshot& flow) {
    const std::uint64_t filled = flow.icrc_bad - std::min(flow.icrc_zero, flow.icrc_bad);
    return flow.crc_bad == 0 && flow.icrc_taken * 2 >= filled;
}

bool has_bad_checksums(const FlowSnapshot& flow) {
    const std::uint64_t bad = bad_checksums(flow);
    return bad > 0 && !is_damage_refuted(flow) &&
           ratio(static_cast<double>(bad), static_cast<double>(flow.packets)) <= checksum_artefact_share;
}

/// Late packets explain repeats; repeats that fill holes are not counted as late. So where there are more late ones
/// than holes, packets were reordered.
bool is_reordered(const FlowSnapshot& flow) {
    const std::uint64_t late = flow.reordered_packets.value_or(0);
    const std::uint64_t missing = flow.missing_packets.value_or(0);
    if (late == 0 || late <= missing) return false;
    return repeated_packets(flow) > 0 ||
           static_cast<double>(late) >= reordered_share * static_cast<double>(flow.packets);
}

/// Every run of repeats began when a timer ran out.
bool waited_for_timers(const FlowSnapshot& flow) {
    return flow.timeouts > 0 && flow.timeouts + tail_probes(flow) >= event_count(flow, EventKind::retransmission);
}

/// TCP sends its last segment again after a pause to learn whether it arrived (RFC 8985, 7), and the peer says by a
/// duplicate SACK (RFC 2883) that it did: nothing was lost, and no host waited for it.
bool was_only_probed(const FlowSnapshot& flow) {
    const std::uint64_t again = repeated_packets(flow);
    return flow.tcp && waited_for_timers(flow) && flow.tcp->sack_blocks >= again &&
           (again <= few_probes || ratio(static_cast<double>(again), static_cast<double>(flow.packets)) < probe_share);
}

/// READ requests are repeated if responses were lost, and responses if requests were repeated: time-outs show which of
/// the two it was. A responder sends again as often as it is asked; a requester asks again at once if it saw a hole,
/// and late if it saw nothing.
bool follows_from_reverse(const Subject& subject, const FlowSnapshot& flow) {
    const FlowSnapshot* other = subject.reverse(flow);
    if (other == nullptr || repeated_packets(*other) == 0 || flow.tcp) return false;
    if (sequence_naks(flow) > 0) return false;
    // A NAK that is implied by a response's loss has what followed repeated, too.
    if (requests_responses(flow) && flow.timeouts == 0 && other->missing_packets.value_or(0) > 0) return true;
    if (only_requests_responses(flow)) return flow.timeouts == 0 || other->missing_packets.value_or(0) > 0;
    return flow.messages_total() == 0 && only_requests_responses(*other) && other->timeouts > 0;
}

}  // namespace

Verdict verdict_of(RepairCause cause) {
    switch (cause) {
        case RepairCause::rnr:
        case RepairCause::rnr_elsewhere: return Verdict::rnr;
        case RepairCause::corruption: return Verdict::corruption;
        case RepairCause::reordering: return Verdict::reordering;
        case RepairCause::loss_before: return Verdict::loss_before_tap;
        // No hole was seen for what another flow lost: as far as this capture point shows, it was lost after it.
        case RepairCause::loss_after:
        case RepairCause::loss_elsewhere: return Verdict::loss_after_tap;
        case RepairCause::timeout: return Verdict::timeout_recovery;
        case RepairCause::duplication: break;
    }
    return Verdict::duplication;
}

bool is_elsewhere(RepairCause cause) {
    return cause == RepairCause::rnr_elsewhere || cause == RepairCause::loss_elsewhere;
}

bool explains_repeats(RepairCause cause) {
    return cause == RepairCause::rnr || cause == RepairCause::timeout || cause == RepairCause::loss_after;
}

std::uint64_t sequence_naks(const FlowSnapshot& flow) { return shows_its_own(flow) ? 0 : all_sequence_naks(flow); }

std::uint64_t naks_of_another(const FlowSnapshot& flow) { return shows_its_own(flow) ? all_sequence_naks(flow) : 0; }

std::uint64_t bad_checksums(const FlowSnapshot& flow) { return flow.icrc_bad + flow.crc_bad; }

std::optional<RepairCause> cause_of(const Subject& subject, const FlowSnapshot& flow) {
    if (has_bad_checksums(flow)) return RepairCause::corruption;
    const std::uint64_t again = repeated_packets(flow);
    const std::uint64_t missing = flow.missing_packets.value_or(0);
    if (is_reordered(flow)) return RepairCause::reordering;
    // Every RNR NAK makes the packets after it go again, and some responders NAK those as well.
    if (flow.rnr_naks > 0 && flow.rnr_naks >= missing && !shows_its_own(flow)) return RepairCause::rnr;
    if (missing > 0) return RepairCause::loss_before;
    if (again > 0) {
        if (follows_from_reverse(subject, flow)) return std::nullopt;
        if (was_only_probed(flow)) return std::nullopt;
        const bool signalled =
            sequence_naks(flow) > 0 || (flow.tcp && flow.tcp->duplicate_acks > 0 && !waited_for_timers(flow));
        return !signalled && flow.timeouts > 0 ? RepairCause::timeout : RepairCause::loss_after;
    }
    return flow.duplicate_packets.value_or(0) > 0 ? std::optional(RepairCause::duplication) : std::nullopt;
}

std::optional<RepairCause> cause_elsewhere(const FlowSnapshot& flow) {
    if (!shows_its_own(flow)) return std::nullopt;
    if (flow.rnr_naks > 0) return RepairCause::rnr_elsewhere;
    return shows_loss(flow) ? std::optional(RepairCause::loss_elsewhere) : std::nullopt;
}

double severity_of(const FlowSnapshot& flow, RepairCause cause) {
    const auto packets = static_cast<double>(flow.packets);
    const auto busy = static_cast<double>(active_ns(flow));
    if (cause == RepairCause::duplication)
        return 0.5 * ratio(static_cast<double>(flow.duplicate_packets.value_or(0)), packets);
    // How long another flow waited, and what it repeated, is not known.
    if (cause == RepairCause::rnr_elsewhere) return ratio(static_cast<double>(flow.rnr_naks), packets);
    if (cause == RepairCause::loss_elsewhere) return ratio(static_cast<double>(naks_of_another(flow)), packets);
    const double time = ratio(static_cast<double>(repair_ns(flow)), busy);
    const double repeats = ratio(static_cast<double>(repeated_packets(flow)), packets);
    double events = static_cast<double>(flow.missing_packets.value_or(0));
    if (cause == RepairCause::reordering) events = static_cast<double>(flow.reordered_packets.value_or(0));
    if (cause == RepairCause::corruption) events = static_cast<double>(bad_checksums(flow));
    if (cause == RepairCause::rnr) events = static_cast<double>(flow.rnr_naks);
    return std::max({time, repeats, ratio(events, packets)});
}

bool is_worth_an_alarm(const FlowSnapshot& flow, RepairCause cause, double severity) {
    if (cause == RepairCause::duplication)
        return ratio(static_cast<double>(flow.duplicate_packets.value_or(0)), static_cast<double>(flow.packets)) >=
               alarming_loss_share;
    if (cause == RepairCause::corruption || cause == RepairCause::rnr || cause == RepairCause::rnr_elsewhere)
        return true;
    // For a late packet RC repeats its window, TCP one segment at most.
    if (cause == RepairCause::reordering && flow.tcp) return severity >= alarming_time_share;
    // What was lost of another flow is measured by the answers that were seen.
    if (cause == RepairCause::loss_elsewhere) return severity >= alarming_loss_share;
    return severity >= alarming_time_share ||
           ratio(static_cast<double>(repeated_packets(flow) + flow.missing_packets.value_or(0)),
                 static_cast<double>(flow.packets)) >= alarming_loss_share;
}

bool lost_on_the_way(const Subject& subject, const FlowSnapshot& flow) {
    const std::optional<RepairCause> cause = cause_of(subject, flow);
    return cause == RepairCause::loss_before || cause == RepairCause::loss_after;
}

/// Every RNR NAK makes what follows out of sequence: those explain as many.
bool shows_loss(const FlowSnapshot& flow) { return naks_of_another(flow) > flow.rnr_naks; }

}  // namespace metrics::answers
