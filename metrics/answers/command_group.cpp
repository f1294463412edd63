#include "metrics/answers/command_group.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <tuple>

#include "metrics/answers/finding.h"

namespace metrics::inline answers {

namespace {

/// False for RDS: a datagram is acknowledged with the next datagram, or later, so the time until then is not the
/// target's.
bool has_answers(const CommandConnectionFigures& commands) { return commands.protocol != "rds"; }

}  // namespace

double part_of(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::uint64_t target_ns(const CommandKindFigures& kind) { return kind.parts_ns[1].sum() + kind.parts_ns[3].sum(); }

std::vector<CommandGroup> command_groups(const Subject& subject) {
    std::map<std::tuple<Address, Address, std::string>, std::size_t> known;
    std::vector<CommandGroup> all;
    for (const FlowSnapshot* flow : subject.flows()) {
        if (!flow->commands || flow->commands->of_target || !has_answers(*flow->commands)) continue;
        const auto [at, fresh] =
            known.try_emplace({flow->source.address, flow->destination.address, flow->commands->protocol}, all.size());
        if (fresh) {
            all.push_back({{flow}, *flow->commands, {}});
            continue;
        }
        all[at->second].flows.push_back(flow);
        merge(all[at->second].sum, *flow->commands);
    }
    for (CommandGroup& each : all) each.totals = totals_of(each.sum);
    std::erase_if(all, [](const CommandGroup& each) {
        return each.totals.commands == 0 && each.totals.unanswered == 0 && !each.sum.oldest_open_ns;
    });
    std::stable_sort(all.begin(), all.end(), [](const CommandGroup& one, const CommandGroup& two) {
        return one.totals.latency_ns.sum() > two.totals.latency_ns.sum();
    });
    return all;
}

const CommandKindFigures* main_kind(const CommandGroup& commands) {
    const CommandKindFigures* most = nullptr;
    for (const CommandKindFigures& kind : commands.sum.kinds) {
        if (kind.housekeeping || kind.latency_ns.empty()) continue;
        if (most == nullptr || kind.latency_ns.sum() > most->latency_ns.sum()) most = &kind;
    }
    return most;
}

std::string ends_text(const Subject& subject, const CommandGroup& commands) {
    const std::string& name = commands.sum.target_name;
    return fmt::format("{} at {} ({}{}{})", subject.host(commands.first().source.address),
                       subject.host(commands.first().destination.address), commands.sum.heading,
                       name.empty() ? "" : ", ", name);
}

std::vector<std::uint64_t> frames_of_command(const CommandRecord& record) {
    std::vector<std::uint64_t> frames;
    for (const std::uint64_t frame :
         {record.request_last_frame, record.data_first_frame, record.data_last_frame, record.response_frame})
        if (frame != 0 && (frames.empty() || frames.back() < frame)) frames.push_back(frame);
    return frames;
}

Answer make_command_answer(Verdict verdict, const CommandGroup& commands, double severity) {
    std::vector<Affected> affected;
    affected.reserve(commands.flows.size());
    for (const FlowSnapshot* flow : commands.flows) affected.push_back({flow, severity});
    Answer answer = finding(Question::commands, verdict, affected);
    answer.confidence = std::min(answer.confidence, commands.sum.confidence);
    return answer;
}

void add_command_figures(Answer& answer, const CommandGroup& commands) {
    const CommandTotals& totals = commands.totals;
    add_evidence(answer, "commands", static_cast<double>(totals.commands), EvidenceUnit::commands);
    if (const CommandKindFigures* const kind = main_kind(commands)) {
        const CommandRecord* slowest = nullptr;
        for (const CommandKindFigures& each : commands.sum.kinds)
            for (const CommandRecord& record : each.slowest)
                if (!each.housekeeping && (slowest == nullptr || record.latency_ns > slowest->latency_ns))
                    slowest = &record;
        const Histogram& latency = kind->latency_ns;
        const std::string name = kind->kind.empty() ? "" : kind->kind + " ";
        add_evidence(answer, name + "latency, median", static_cast<double>(latency.quantile(0.5).value_or(0)),
                     EvidenceUnit::ns);
        add_evidence(answer, name + "latency, 99 %", static_cast<double>(latency.quantile(0.99).value_or(0)),
                     EvidenceUnit::ns);
        if (slowest != nullptr)
            add_evidence(answer, "slowest command", static_cast<double>(slowest->latency_ns.value_or(0)),
                         EvidenceUnit::ns, frames_of_command(*slowest));
    }
    if (commands.sum.split_is_known()) {
        const std::uint64_t latency = totals.latency_ns.sum();
        const auto share = [&](const char* what, std::uint64_t ns) {
            add_evidence(answer, what, part_of(ns, latency), EvidenceUnit::share);
        };
        share("latency spent on the request", totals.parts_ns[0]);
        share("latency spent at the target", totals.parts_ns[1] + totals.parts_ns[3]);
        if (!commands.is_iwarp()) share("of it, until the request was acknowledged", totals.request_ack_ns);
        share("latency spent on data", totals.parts_ns[2]);
        share("latency spent on the response", totals.parts_ns[4]);
        add_evidence(answer, "time without an open command", part_of(commands.sum.states_ns[0], commands.sum.wall_ns()),
                     EvidenceUnit::share);
    }
    add_evidence(answer, "latency spent on repairs",
                 part_of(totals.repair_own_ns + totals.repair_behind_ns, totals.latency_ns.sum()), EvidenceUnit::share);
    add_evidence(answer, "errors", static_cast<double>(totals.errors), EvidenceUnit::commands);
    add_evidence(answer, "open at once, most", static_cast<double>(commands.sum.open_max), EvidenceUnit::commands);
    if (commands.sum.limit)
        add_evidence(answer, "open at once, permitted", static_cast<double>(*commands.sum.limit),
                     EvidenceUnit::commands);
    add_evidence(answer, "time at that limit", part_of(commands.sum.at_limit_ns, commands.sum.wall_ns()),
                 EvidenceUnit::share);
}

}  // namespace metrics::answers
