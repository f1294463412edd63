// What is wrong with commands: errors, missing answers, repeats, and repairs that cost much.
#include <algorithm>
#include <fmt/core.h>
#include <tuple>

#include "metrics/answers/command_group.h"
#include "metrics/answers/figure_text.h"
#include "metrics/answers/finding.h"
#include "metrics/answers/thresholds.h"

namespace metrics::inline answers {

namespace {

/// The confidence of a finding that packets missing from the capture could refute.
constexpr double doubtful_confidence = 0.4;

/// In the order of command_error_names.
enum ErrorPlace : std::size_t { device, path, protocol, aborted, busy, denied };

bool moves_data(const CommandKindFigures& kind) { return kind.kind == "read" || kind.kind == "write"; }

/// Whether the capture may lack answers that were sent.
bool lacks_packets(const Subject& subject, const CommandGroup& commands) {
    return std::ranges::any_of(commands.flows, [&](const FlowSnapshot* flow) {
        const FlowSnapshot* const back = subject.reverse(*flow);
        return flow->unseen_acknowledged_packets != 0 || back == nullptr || back->unseen_acknowledged_packets != 0;
    });
}

template <class Member>
std::vector<std::uint64_t> frames_of_first(const CommandGroup& commands, Member member) {
    constexpr std::size_t most = 8;
    std::vector<std::uint64_t> frames;
    for (const CommandKindFigures& kind : commands.sum.kinds)
        for (const CommandRecord& record : kind.*member)
            if (frames.size() < most) {
                const auto more = frames_of_command(record);
                frames.insert(frames.end(), more.begin(), more.end());
            }
    std::sort(frames.begin(), frames.end());
    frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
    if (frames.size() > most) frames.resize(most);
    return frames;
}

/// Errors that alarm. Class `protocol` says that the target does not know a command. Hosts try such commands when they
/// begin, so only reads and writes of this class count.
std::uint64_t alarming_errors(const CommandGroup& commands) {
    std::uint64_t certain = 0;
    std::uint64_t refused = 0;
    std::uint64_t misunderstood = 0;
    std::uint64_t moves = 0;
    for (const CommandKindFigures& kind : commands.sum.kinds) {
        if (kind.housekeeping) continue;
        certain += kind.error_classes[device] + kind.error_classes[path];
        refused += kind.error_classes[aborted] + kind.error_classes[busy] + kind.error_classes[denied];
        if (!moves_data(kind)) continue;
        misunderstood += kind.error_classes[protocol];
        moves += kind.commands;
    }
    const auto is_many = [](std::uint64_t count, std::uint64_t whole) {
        return count != 0 && static_cast<double>(count) >= alarming_error_share * static_cast<double>(whole);
    };
    std::uint64_t sum = certain;
    if (is_many(refused, commands.totals.commands)) sum += refused;
    if (is_many(misunderstood, moves)) sum += misunderstood;
    return sum;
}

/// "4 of read (Unrecovered Read Error), 1 of write (Write Fault)".
std::string statuses_text(const CommandGroup& commands) {
    constexpr std::size_t most = 4;
    std::vector<std::tuple<std::uint64_t, std::string, std::string>> counts;
    for (const CommandKindFigures& kind : commands.sum.kinds) {
        const bool is_refused_alone = !moves_data(kind) && kind.errors == kind.error_classes[protocol];
        if (kind.housekeeping || is_refused_alone) continue;
        for (const auto& [status, count] : kind.statuses) counts.emplace_back(count, kind.kind, status);
    }
    std::stable_sort(counts.begin(), counts.end(),
                     [](const auto& one, const auto& two) { return std::get<0>(one) > std::get<0>(two); });
    std::string text;
    for (std::size_t i = 0; i < std::min(most, counts.size()); ++i) {
        const auto& [count, kind, status] = counts[i];
        text += fmt::format("{}{} of {} ({})", i == 0 ? "" : ", ", number(count), kind, status);
    }
    return counts.size() > most ? text + ", and others" : text;
}

std::uint64_t errors_of(const CommandGroup& commands, ErrorPlace place) {
    std::uint64_t sum = 0;
    for (const CommandKindFigures& kind : commands.sum.kinds)
        if (!kind.housekeeping) sum += kind.error_classes[place];
    return sum;
}

std::string error_advice(const Subject& subject, const CommandGroup& commands) {
    const std::string target = subject.short_name(commands.first().destination.address);
    if (errors_of(commands, device) != 0) return fmt::format("Look at the device of {}, and at its log.", target);
    if (errors_of(commands, path) != 0)
        return fmt::format("Look at the paths to {}: multipath, ANA or ALUA states, and the export.", target);
    if (errors_of(commands, busy) != 0)
        return fmt::format("{} has no room for more commands: lower the queue depth, or look at what it works on.",
                           target);
    if (errors_of(commands, denied) != 0) return fmt::format("Look at permissions and reservations on {}.", target);
    if (errors_of(commands, aborted) != 0) return "Look at the initiator's log: a time-out aborts commands.";
    return "Compare the versions and the settings of both ends.";
}

void find_command_errors(const Subject& subject, const CommandGroup& commands, std::vector<Answer>& out) {
    const std::uint64_t errors = alarming_errors(commands);
    if (errors == 0) return;
    const double share = std::min(1.0, part_of(errors, std::max<std::uint64_t>(commands.totals.commands, 1)));
    Answer answer = make_command_answer(Verdict::command_errors, commands, share);
    answer.cost = {share, CostBasis::commands};
    answer.summary =
        fmt::format("{} of {} commands of {} ended with an error: {}.", number(errors),
                    number(commands.totals.commands), ends_text(subject, commands), statuses_text(commands));
    add_evidence(answer, "commands with an error", static_cast<double>(errors), EvidenceUnit::commands,
                 frames_of_first(commands, &CommandKindFigures::failed));
    add_command_figures(answer, commands);
    answer.advice = error_advice(subject, commands);
    out.push_back(std::move(answer));
}

struct Waiting {
    std::uint64_t commands = 0;
    std::uint64_t longest_ns = 0;
    bool acknowledged = false;  ///< a request was acknowledged
};

/// The time until which an answer to the flow's commands could have come: at most until others use its queue pair.
std::int64_t end_of_answers(const Subject& subject, const FlowSnapshot& flow) {
    if (!flow.finished) return subject.snapshot().capture.last_ns;
    const FlowSnapshot* const back = subject.reverse(flow);
    return back == nullptr ? flow.last_ns : std::max(flow.last_ns, back->last_ns);
}

/// Adds the commands of one connection that wait longer than any target needs. A host that gives up ends the
/// connection: its commands have waited until then.
void add_waiting(const FlowSnapshot& flow, std::int64_t end_ns, Waiting& waiting) {
    const CommandConnectionFigures& connection = *flow.commands;
    const auto age_of = [end_ns](std::int64_t begin_ns) {
        return begin_ns >= end_ns ? 0 : static_cast<std::uint64_t>(end_ns) - static_cast<std::uint64_t>(begin_ns);
    };
    const std::optional<std::int64_t> given_up_ns = flow.connection->end_ns;
    const std::uint64_t after_ns = given_up_ns ? age_of(*given_up_ns) : 0;
    std::uint64_t longest_ns = connection.oldest_open_ns ? age_of(*connection.oldest_open_ns) : 0;
    std::uint64_t count = connection.open_long;
    for (const CommandKindFigures& kind : connection.kinds) {
        if (kind.housekeeping) continue;
        count += kind.unanswered_long;
        for (const CommandRecord& record : kind.waiting) {
            const std::uint64_t age_ns = age_of(record.begin_ns);
            if (age_ns <= long_wait_ns) continue;
            longest_ns = std::max(longest_ns, age_ns);
            waiting.acknowledged = waiting.acknowledged || record.request_ack_ns;
        }
    }
    if (longest_ns <= long_wait_ns) return;
    // Figures of an earlier version have no counts.
    waiting.commands += std::max<std::uint64_t>(count, 1);
    waiting.longest_ns = std::max(waiting.longest_ns, longest_ns - std::min(after_ns, longest_ns));
}

Waiting waiting_of(const Subject& subject, const CommandGroup& commands) {
    Waiting waiting;
    for (const FlowSnapshot* flow : commands.flows) add_waiting(*flow, end_of_answers(subject, *flow), waiting);
    return waiting;
}

void find_unanswered(const Subject& subject, const CommandGroup& commands, std::vector<Answer>& out) {
    const Waiting waiting = waiting_of(subject, commands);
    if (waiting.commands == 0) return;
    const double share = part_of(waiting.commands, commands.totals.commands + waiting.commands);
    Answer answer = make_command_answer(Verdict::unanswered, commands, share);
    answer.cost = {share, CostBasis::commands};
    const std::string target = subject.short_name(commands.first().destination.address);
    answer.summary = fmt::format("{} of {} got no answer for up to {}{}.", counted(waiting.commands, "command"),
                                 ends_text(subject, commands), duration(static_cast<double>(waiting.longest_ns)),
                                 waiting.acknowledged ? ", though requests were acknowledged" : "");
    add_evidence(answer, "commands without an answer", static_cast<double>(waiting.commands), EvidenceUnit::commands,
                 frames_of_first(commands, &CommandKindFigures::waiting));
    add_evidence(answer, "longest wait", static_cast<double>(waiting.longest_ns), EvidenceUnit::ns);
    add_command_figures(answer, commands);
    answer.advice =
        waiting.acknowledged
            ? fmt::format(
                  "The adapter of {0} has the requests: look at the target's program and its "
                  "device on {0}.",
                  target)
            : fmt::format("Look whether {} still answers at all, and at the answer about bandwidth.", target);
    if (lacks_packets(subject, commands)) answer.confidence = std::min(answer.confidence, doubtful_confidence);
    out.push_back(std::move(answer));
}

void find_retried(const Subject& subject, const CommandGroup& commands, std::vector<Answer>& out) {
    std::uint64_t replaced = 0;
    for (const CommandKindFigures& kind : commands.sum.kinds)
        if (!kind.housekeeping) replaced += kind.replaced;
    if (replaced == 0) return;
    const double share = part_of(replaced, commands.totals.commands + replaced);
    Answer answer = make_command_answer(Verdict::retried, commands, share);
    answer.cost = {share, CostBasis::commands};
    answer.summary =
        fmt::format("{} of {} {} asked again, or aborted, before an answer came.", counted(replaced, "command"),
                    ends_text(subject, commands), replaced == 1 ? "was" : "were");
    add_evidence(answer, "commands asked again", static_cast<double>(replaced), EvidenceUnit::commands, {}, true);
    add_command_figures(answer, commands);
    answer.advice = fmt::format("Look at the log of {}: a time-out makes it ask again.",
                                subject.short_name(commands.first().source.address));
    // A command whose answer the capture lacks looks the same.
    if (lacks_packets(subject, commands)) answer.confidence = std::min(answer.confidence, doubtful_confidence);
    out.push_back(std::move(answer));
}

void find_repairs(const Subject& subject, const CommandGroup& commands, std::vector<Answer>& out) {
    const std::uint64_t repair_ns = commands.totals.repair_own_ns + commands.totals.repair_behind_ns;
    const double share = std::min(1.0, part_of(repair_ns, commands.totals.latency_ns.sum()));
    if (repair_ns == 0 || share < alarming_time_share) return;
    std::uint64_t rnr = 0;
    std::uint64_t resent = 0;
    std::uint64_t rnr_ns = 0;
    std::uint64_t other_ns = 0;
    for (const FlowSnapshot* flow : commands.flows)
        for (const FlowSnapshot* each : {flow, subject.reverse(*flow)}) {
            if (each == nullptr) continue;
            rnr += each->rnr_naks;
            resent += each->retransmitted_packets.value_or(0);
            rnr_ns += each->state_ns[index_of(State::rnr_wait)];
            other_ns += each->state_ns[index_of(State::recover_nak)] + each->state_ns[index_of(State::recover_timeout)];
        }
    const bool by_rnr = rnr != 0 && rnr_ns >= other_ns;
    Answer answer = make_command_answer(Verdict::repairs_hurt_commands, commands, share);
    answer.cost = {share, CostBasis::command_time};
    answer.summary = fmt::format("{} of the latency of commands of {} is time in which packets were sent again{}.",
                                 percent(share), ends_text(subject, commands),
                                 !by_rnr         ? ""
                                 : other_ns == 0 ? ", because a receiver was not ready"
                                                 : ", mostly because a receiver was not ready");
    add_evidence(answer, "repairs of a command's own packets", static_cast<double>(commands.totals.repair_own_ns),
                 EvidenceUnit::ns, frames_of_first(commands, &CommandKindFigures::hurt));
    add_evidence(answer, "waiting for repairs of others", static_cast<double>(commands.totals.repair_behind_ns),
                 EvidenceUnit::ns);
    add_evidence(answer, "packets sent again", static_cast<double>(resent), EvidenceUnit::packets);
    add_evidence(answer, "RNR NAKs", static_cast<double>(rnr), EvidenceUnit::naks);
    add_command_figures(answer, commands);
    answer.advice = by_rnr ? "Post more receives on the side that was not ready; the credits of the upper layer "
                             "promise more than there are."
                           : "The answer about bandwidth names the cause of the repairs.";
    out.push_back(std::move(answer));
}

}  // namespace

void find_command_alarms(const Subject& subject, const CommandGroup& commands, std::vector<Answer>& out) {
    find_command_errors(subject, commands, out);
    find_unanswered(subject, commands, out);
    find_retried(subject, commands, out);
    find_remote_access(subject, commands, out);
    find_fallback(subject, commands, out);
    find_repairs(subject, commands, out);
}

}  // namespace metrics::answers
