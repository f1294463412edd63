#include "policy/policy_answers.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

#include "base/quantities.h"
#include "metrics/answers/counters.h"
#include "metrics/answers/thresholds.h"
#include "policy/remedies.h"

namespace policy {
namespace {

using metrics::Answer;
using metrics::EvidenceUnit;
using metrics::Question;
using metrics::Verdict;

constexpr std::size_t most_answers = 16;
constexpr std::size_t most_flows = 16;
constexpr std::size_t most_frames = 8;

std::string host_text(const metrics::Address& address, const metrics::HostNames& names) {
    const std::string name = names.name(address);
    return name.empty() ? metrics::to_text(address) : fmt::format("{} ({})", name, metrics::to_text(address));
}

}  // namespace

std::string sentence_of(const RuleOutcome& outcome, const Compliance& compliance, const metrics::HostNames& names) {
    const std::string expected =
        fmt::format("Rule \"{}\" expects {}", outcome.rule->name, expectation_of(*outcome.rule));
    if (outcome.violations.empty()) return fmt::format("{}, but there are {}.", expected, compliance.encrypted);
    const Violation& worst = outcome.violations.front();
    std::string text = fmt::format("{}: {} to {} has {}", expected, host_text(worst.flow->source.address, names),
                                   host_text(worst.flow->destination.address, names), worst.seen);
    if (outcome.rule->forbidden)
        text = fmt::format("{}: there is one from {} to {}", expected, host_text(worst.flow->source.address, names),
                           host_text(worst.flow->destination.address, names));
    if (outcome.violations.size() > 1)
        text += fmt::format(", and {} more of {} differ", outcome.violations.size() - 1,
                            base::format_counted(outcome.flows, "flow"));
    return text + ".";
}

namespace {

std::string advice_of(const RuleOutcome& outcome, const metrics::HostNames& names) {
    if (outcome.violations.empty()) return "Find the host that encrypts: rdmascope dump -n shows the frames.";
    const metrics::FlowSnapshot& worst = *outcome.violations.front().flow;
    std::string text;
    for (const Remedy& remedy : remedies(*outcome.rule, worst)) {
        if (!text.empty()) text += remedy.is_addition ? "; then " : "; or ";
        text += remedy.command;
    }
    return text.empty() ? text : fmt::format("On {}: {}.", host_text(worst.source.address, names), text);
}

Answer answer_of(const RuleOutcome& outcome, const Compliance& compliance, const metrics::Snapshot& snapshot,
                 const metrics::HostNames& names) {
    Answer answer;
    answer.question = Question::policy;
    answer.verdict = Verdict::policy_broken;
    answer.alarm = true;
    answer.confidence = 1;
    answer.summary = sentence_of(outcome, compliance, names);
    answer.advice = advice_of(outcome, names);
    std::vector<std::uint64_t> frames;
    for (const Violation& violation : outcome.violations) {
        if (answer.flows.size() < most_flows) answer.flows.push_back(violation.flow->id);
        if (frames.size() < most_frames) frames.push_back(violation.first_frame);
    }
    std::ranges::sort(frames);
    frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
    std::uint64_t all = snapshot.capture.packets;
    for (const metrics::FlowSnapshot& flow : snapshot.flows) all = std::max(all, flow.packets);
    const std::uint64_t broken = outcome.broken_packets();
    answer.cost = {all == 0 ? 1 : std::min(1.0, static_cast<double>(broken) / static_cast<double>(all)),
                   metrics::CostBasis::packets};
    answer.severity = answer.cost.share;
    // What encrypted frames hold is not known, so the finding is never a minor one.
    if (outcome.encrypted_frames != 0) answer.cost.share = std::max(answer.cost.share, metrics::minor_cost);
    answer.evidence.push_back(
        {"packets that the rule does not permit", static_cast<double>(broken), EvidenceUnit::packets, frames});
    if (!outcome.violations.empty())
        answer.evidence.push_back(
            {"bytes of these packets", static_cast<double>(outcome.broken_bytes()), EvidenceUnit::bytes, {}});
    return answer;
}

/// Where no rule is broken.
Answer quiet_answer(const Compliance& compliance) {
    std::uint64_t flows = 0;
    std::uint64_t judged = 0;
    for (const RuleOutcome& rule : compliance.rules) {
        flows += rule.flows;
        judged += rule.flows - rule.unjudged;
    }
    Answer answer;
    answer.question = Question::policy;
    answer.verdict = judged == 0 ? Verdict::undecidable : Verdict::policy_kept;
    answer.confidence = judged == 0 ? 0 : 1;
    answer.summary = judged == 0
                         ? "No flow is one that a rule can judge."
                         : fmt::format("{} as the rules expect.",
                                       judged == 1 ? "The flow that rules are about is"
                                                   : fmt::format("The {} flows that rules are about are", judged));
    if (judged == 0)
        answer.advice = "Compare the rules with the traffic: rdmascope policy learn prints rules for what is seen.";
    if (compliance.unruled != 0 || flows != judged)
        answer.evidence.push_back({"flows that no rule judges",
                                   static_cast<double>(compliance.unruled + flows - judged),
                                   EvidenceUnit::none,
                                   {}});
    return answer;
}

}  // namespace

std::vector<Answer> answers_of(const Compliance& compliance, const metrics::Snapshot& snapshot,
                               const metrics::HostNames& names) {
    std::vector<Answer> answers;
    for (const RuleOutcome& rule : compliance.rules)
        if (rule.broken() && answers.size() < most_answers)
            answers.push_back(answer_of(rule, compliance, snapshot, names));
    if (answers.empty()) answers.push_back(quiet_answer(compliance));
    return answers;
}

void add_answers(const Rules& rules, const metrics::Snapshot& snapshot, const metrics::HostNames& names,
                 const std::uint64_t* flow, std::vector<Answer>& answers) {
    metrics::Snapshot part;
    if (flow != nullptr) {
        const metrics::FlowSnapshot* const asked = snapshot.flow(*flow);
        for (const metrics::FlowSnapshot& one : snapshot.flows)
            if (one.id == *flow || (asked != nullptr && asked->reverse == one.id)) part.flows.push_back(one);
    }
    const metrics::Snapshot& judged = flow == nullptr ? snapshot : part;
    const exporters::Context context{.names = &names, .capture_start_ns = exporters::start_of(snapshot.capture)};
    std::vector<Answer> own = answers_of(check(rules, judged, context), judged, names);
    answers.insert(answers.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
    metrics::answers::sort(answers);
}

}  // namespace policy
