// What is repaired on the way: packets lost, late, doubled, damaged, or refused because no receive was posted. One
// cause can have many effects in a flow (a late packet is NAKed, sent again, and arrives twice): a flow gets the cause
// that explains the other effects.
#include "metrics/answers/repairs.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <optional>

#include "metrics/answers/disorder.h"
#include "metrics/answers/ends.h"
#include "metrics/answers/figure_text.h"
#include "metrics/answers/finding.h"
#include "metrics/answers/flow_measures.h"
#include "metrics/answers/recovery_rules.h"
#include "metrics/answers/repair_cause.h"
#include "metrics/answers/repair_sums.h"
#include "metrics/answers/repair_words.h"
#include "metrics/answers/subject.h"
#include "metrics/answers/thresholds.h"
#include "metrics/answers/unreachable.h"

namespace metrics::inline answers {

namespace {

/// Copies that the capture made were counted as the network's until they were recognised.
bool is_copied_by_capture(const Snapshot& snapshot, const FlowSnapshot& flow) {
    return snapshot.capture.copies > 0 && snapshot.capture.copies >= flow.duplicate_packets.value_or(0) / 4;
}

void add_figures(RepairCause cause, const Flows& flows, const RepairSums& sums, Answer& answer) {
    const auto add = [&](std::string what, std::uint64_t value, EvidenceUnit unit,
                         std::initializer_list<EventKind> kinds) {
        add_evidence(answer, std::move(what), static_cast<double>(value), unit,
                     value > 0 ? frames_of(flows, kinds) : std::vector<std::uint64_t>{});
    };
    add("packets seen", sums.packets, EvidenceUnit::packets, {});
    add("packets missing at the capture point", sums.missing, EvidenceUnit::packets, {EventKind::gap});
    add("packets late", sums.late, EvidenceUnit::packets, {EventKind::reordered});
    add("packets duplicated", sums.doubled, EvidenceUnit::packets, {EventKind::duplicate});
    add("packets with a bad ICRC", sums.icrc, EvidenceUnit::packets, {EventKind::icrc_bad});
    add("FPDUs with a bad CRC", sums.crc, EvidenceUnit::fpdus, {EventKind::crc_bad});
    add("receiver-not-ready NAKs", sums.rnr, EvidenceUnit::naks, {EventKind::rnr_nak});
    if ((cause == RepairCause::rnr || cause == RepairCause::rnr_elsewhere) && sums.rnr_timer.max())
        add_evidence(answer, "longest RNR timer asked for", static_cast<double>(*sums.rnr_timer.max()),
                     EvidenceUnit::ns);
    add("sequence error NAKs", sums.naks + sums.naks_of_another, EvidenceUnit::naks, {EventKind::nak});
    if (is_elsewhere(cause)) return;
    add("duplicate TCP acknowledgements", sums.duplicate_acks, EvidenceUnit::acks, {});
    add("packets retransmitted", sums.again, EvidenceUnit::packets, {EventKind::retransmission});
    add("recoveries that waited for a timer", sums.timeouts, EvidenceUnit::recoveries, {EventKind::timeout});
    add("time lost to repairs", sums.repair_ns, EvidenceUnit::ns, {});
    add("of it waiting for timers", sums.timeout_ns, EvidenceUnit::ns, {});
    add_evidence(answer, "share of the busy time",
                 ratio(static_cast<double>(sums.repair_ns), static_cast<double>(sums.busy_ns)), EvidenceUnit::share);
    if (const auto median = sums.repair.quantile(0.5))
        add_evidence(answer, "median repair, loss to retransmission", static_cast<double>(*median), EvidenceUnit::ns);
    if (const auto worst = longest_repair(sums.repair, sums.nak_ns + sums.timeout_ns))
        add_evidence(answer, "longest repair", static_cast<double>(*worst), EvidenceUnit::ns);
}

}  // namespace

void find_repairs(const Subject& subject, std::vector<Answer>& out) {
    for (const Group& group : subject.groups()) {
        std::map<RepairCause, std::vector<Affected>> by_cause;
        for (const FlowSnapshot* flow : group.flows) {
            for (const std::optional<RepairCause> cause : {cause_of(subject, *flow), cause_elsewhere(*flow)}) {
                if (!cause) continue;
                if (cause == RepairCause::duplication && is_copied_by_capture(subject.snapshot(), *flow)) continue;
                if (cause == RepairCause::timeout && unreachable_verdict(group, *flow)) continue;
                if (explains_repeats(*cause) && end_verdict(subject, *flow)) continue;
                if (cause == RepairCause::reordering && is_harmless(*flow, subject.receiver(group.destination)))
                    continue;
                const double severity = severity_of(*flow, *cause);
                if (is_worth_an_alarm(*flow, *cause, severity)) by_cause[*cause].push_back({flow, severity});
            }
        }
        for (auto& [cause, affected] : by_cause) {
            Answer answer = finding(Question::bandwidth, verdict_of(cause), affected);
            const Flows flows = flows_of(affected);
            const RepairSums sums = sum_up(flows, cause);
            answer.cost = cost_of(cause, sums);
            explain_repairs(subject, cause, flows, sums, answer);
            add_figures(cause, flows, sums, answer);
            if (cause == RepairCause::loss_after && sums.naks + sums.duplicate_acks == 0) answer.confidence *= 0.6;
            out.push_back(std::move(answer));
        }
        find_violations(subject, group, out);
    }
}

}  // namespace metrics::answers
