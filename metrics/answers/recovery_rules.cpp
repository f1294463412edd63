#include "metrics/answers/recovery_rules.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <string_view>

#include "metrics/answers/figure_text.h"
#include "metrics/answers/finding.h"
#include "metrics/answers/flow_measures.h"

namespace metrics::inline answers {

namespace {

struct Violation {
    EventKind kind;
    std::string_view what;
    bool of_sender;
};
constexpr std::array<Violation, 5> violations{{
    {EventKind::go_back_wrong_start, "the sender went back to another packet than the one asked for", true},
    {EventKind::go_back_incomplete, "the sender did not repeat all that followed the lost packet", true},
    {EventKind::nak_wrong_psn, "the receiver's NAK named another packet than the first missing one", false},
    {EventKind::nak_missing, "the receiver saw a hole and sent no NAK", false},
    {EventKind::read_restart_wrong, "a repeated READ did not start at the first missing response", true},
}};

/// Go-back-N is the rule for receivers in order. One that keeps what comes after a hole needs only the hole again; one
/// that waits for what is late sends no NAK, unless a timer had to repair it.
bool is_violation(const Violation& violation, const FlowSnapshot& flow, ReceiverClass receiver) {
    if (violation.kind == EventKind::go_back_incomplete)
        return receiver != ReceiverClass::selective && receiver != ReceiverClass::placing;
    if (violation.kind == EventKind::nak_missing) return receiver != ReceiverClass::placing || flow.timeouts > 0;
    return true;
}

std::uint64_t count_of(const Violation& violation, const FlowSnapshot& flow, ReceiverClass receiver) {
    return is_violation(violation, flow, receiver) ? event_count(flow, violation.kind) : 0;
}

std::vector<Affected> violating_flows(const Group& group, ReceiverClass receiver) {
    std::vector<Affected> affected;
    for (const FlowSnapshot* flow : group.flows) {
        std::uint64_t events = 0;
        for (const Violation& violation : violations) events += count_of(violation, *flow, receiver);
        // A violation that is also a loss must not come before the loss.
        if (events > 0)
            affected.push_back(
                {flow, std::min(0.1, ratio(static_cast<double>(events), static_cast<double>(flow->packets)))});
    }
    return affected;
}

}  // namespace

void find_violations(const Subject& subject, const Group& group, std::vector<Answer>& out) {
    const ReceiverClass receiver = subject.receiver(group.destination);
    std::vector<Affected> affected = violating_flows(group, receiver);
    if (affected.empty()) return;
    Answer answer = finding(Question::bandwidth, Verdict::go_back_n_violation, affected);
    answer.cost.basis = CostBasis::packets;
    const Flows flows = flows_of(affected);
    const Violation* most = nullptr;
    std::uint64_t most_count = 0;
    for (const Violation& violation : violations) {
        std::uint64_t count = 0;
        for (const FlowSnapshot* flow : flows) count += count_of(violation, *flow, receiver);
        if (most == nullptr || count > most_count) {
            most = &violation;
            most_count = count;
        }
        if (count == 0) continue;
        add_evidence(answer, std::string(violation.what), static_cast<double>(count), EvidenceUnit::times,
                     frames_of(flows, {violation.kind}));
    }
    const FlowSnapshot& first = *flows.front();
    const Address& culprit = most->of_sender ? first.source.address : first.destination.address;
    answer.summary = fmt::format("Recovery {} does not follow the specification: {} ({}).", subject.from_to(flows),
                                 most->what, counted(most_count, "time"));
    answer.advice = fmt::format(
        "Compare the driver and firmware of {} with its vendor's newest release, and report it with a capture that "
        "holds these frames (`rdmascope dump -w`). Without loss it does no harm: mend that first.",
        subject.short_name(culprit));
    answer.confidence *= 0.7;  // a packet that the capture lacks looks like a violation
    out.push_back(std::move(answer));
}

}  // namespace metrics::answers
