#include "metrics/answers/flow_problems.h"

#include <algorithm>
#include <array>
#include <optional>

#include "wire/error_text.h"

namespace metrics::inline answers {

namespace {

struct NoNames final : HostNames {
    std::string name(const Address& /*address*/) const override { return {}; }
};

struct CauseWord {
    Verdict verdict;
    std::string_view word;
};
/// For verdicts whose names are too long, or too short, for a column. Other names are used as they are, with blanks.
constexpr std::array cause_words{
    CauseWord{Verdict::remote_access_error, "remote access"},
    CauseWord{Verdict::remote_operational_error, "remote operation"},
    CauseWord{Verdict::loss_before_tap, "loss before"},
    CauseWord{Verdict::loss_after_tap, "loss after"},
    CauseWord{Verdict::timeout_recovery, "time-out"},
    CauseWord{Verdict::rnr_retries_used_up, "rnr used up"},
    CauseWord{Verdict::go_back_n_violation, "go-back-N"},
    CauseWord{Verdict::path_mtu, "path MTU"},
    CauseWord{Verdict::nic_stall, "adapter stall"},
    CauseWord{Verdict::unanswered, "no answer"},
    CauseWord{Verdict::retried, "asked again"},
    CauseWord{Verdict::repairs_hurt_commands, "repairs"},
};

std::string cause_word(Verdict verdict) {
    const auto* const found = std::ranges::find(cause_words, verdict, &CauseWord::verdict);
    std::string word(found == cause_words.end() ? name_of(verdict) : found->word);
    std::ranges::replace(word, '_', ' ');
    return word;
}

/// "invalid STag": why a peer ended the connection. Absent where no Terminate of the flow is known.
std::optional<std::string> terminate_reason(const FlowSnapshot& flow) {
    const EventSummary* const summary = flow.terminates == 0 ? nullptr : flow.find_event_summary(EventKind::terminate);
    if (summary == nullptr) return {};
    std::string reason;
    const std::uint64_t value = summary->value_max;
    wire::append_terminate_reason(reason, static_cast<std::uint8_t>(value >> 12 & 15),
                                  static_cast<std::uint8_t>(value >> 8 & 15), static_cast<std::uint8_t>(value & 0xff));
    if (const std::size_t code = reason.rfind(": "); code != std::string::npos) reason.erase(0, code + 2);
    return reason;
}

bool may_be_terminate(Verdict verdict) {
    return verdict == Verdict::terminate || verdict == Verdict::remote_access_error ||
           verdict == Verdict::invalid_request || verdict == Verdict::remote_operational_error;
}

std::string cause_of_problem(const Snapshot& snapshot, std::uint64_t id, Verdict verdict) {
    const FlowSnapshot* const flow = may_be_terminate(verdict) ? snapshot.flow(id) : nullptr;
    if (flow == nullptr) return cause_word(verdict);
    std::optional<std::string> reason = terminate_reason(*flow);
    // The Terminate ran the other way.
    const FlowSnapshot* const other = flow->reverse ? snapshot.flow(*flow->reverse) : nullptr;
    if (!reason && other != nullptr) reason = terminate_reason(*other);
    return reason ? "terminate: " + *reason : cause_word(verdict);
}

}  // namespace

FlowProblems flow_problems(const Snapshot& snapshot, std::span<const Answer> answers) {
    FlowProblems problems;
    for (const Answer& answer : answers) {
        if (!answer.alarm) continue;
        for (const std::uint64_t id : answer.flows) {
            const auto [at, fresh] = problems.try_emplace(id);
            if (!fresh) continue;
            at->second = {answer.question, answer.verdict, grade_of(answer), answer.cost,
                          cause_of_problem(snapshot, id, answer.verdict)};
        }
    }
    return problems;
}

FlowProblems flow_problems(const Snapshot& snapshot) {
    static const NoNames no_names;
    const std::vector<Answer> answers = answer(snapshot, no_names);
    return flow_problems(snapshot, answers);
}

double badness(const FlowProblem& problem) {
    return static_cast<double>(problem.grade) + std::clamp(problem.cost.share, 0.0, 0.999);
}

bool outlives_connection(Verdict verdict) {
    switch (verdict) {
        case Verdict::remote_access_error:
        case Verdict::invalid_request:
        case Verdict::remote_operational_error:
        case Verdict::terminate:
        case Verdict::never_answered:
        case Verdict::stopped_answering:
        case Verdict::retries_used_up:
        case Verdict::rnr_retries_used_up:
        case Verdict::port_unreachable:
        case Verdict::host_unreachable:
        case Verdict::path_mtu: return true;
        default: return false;
    }
}

}  // namespace metrics::answers
