#include "daemon/recorder/triggers.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <variant>

#include "base/similar.h"
#include "daemon/recorder/condition.h"
#include "daemon/recorder/figure_events.h"

namespace service::inline recorder {
namespace {

using metrics::FlowSnapshot;

struct When {
    std::string name;
    Condition condition;
};
struct WaitForVerdict {
    std::string name;
    metrics::Verdict verdict;
};
using Trigger = std::variant<When, WaitForVerdict>;

/// Ascending, each once, the first few.
void tidy_frames(std::vector<std::uint64_t>& frames) {
    std::sort(frames.begin(), frames.end());
    frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
    if (frames.size() > max_incident_frames) frames.resize(max_incident_frames);
}

/// "storage-3 -> compute-7 QP 0x11".
std::string ends_of(const FlowSnapshot& flow, const metrics::HostNames& names) {
    std::string text = fmt::format("{} -> {}", names.text(flow.source.address), names.text(flow.destination.address));
    if (flow.destination.qpn)
        text += fmt::format(" QP {:#x}", *flow.destination.qpn);
    else if (flow.destination.port)
        text += fmt::format(" port {}", *flow.destination.port);
    return text;
}

/// A flow that does as the condition says, with its figures in the order of the terms.
struct Hit {
    const FlowSnapshot* flow;
    std::vector<exporters::Value> figures;
};

std::optional<Hit> try_flow(const Condition& condition, const exporters::FlowRow& row) {
    Hit hit{&row.flow, {}};
    for (const Term& term : condition.terms) {
        hit.figures.push_back(term.field->value(row));
        if (!term.holds(hit.figures.back())) return {};
    }
    return hit;
}

/// The worst first, by the first figure: the greatest, or the least where little is what is asked for.
void sort_by_weight(std::vector<Hit>& hits, const Condition& condition) {
    const Comparison comparison = condition.terms.front().comparison;
    const bool little = comparison == Comparison::less || comparison == Comparison::at_most;
    std::stable_sort(hits.begin(), hits.end(), [little](const Hit& a, const Hit& b) {
        const int order = exporters::compare(a.figures.front(), b.figures.front());
        return little ? order < 0 : order > 0;
    });
}

std::string figures_text(const Condition& condition, const Hit& hit) {
    std::string text;
    for (std::size_t i = 0; i < condition.terms.size(); ++i) {
        const Term& term = condition.terms[i];
        text += fmt::format("{}{} {} {} {}", i == 0 ? "" : " and ", term.field->path,
                            exporters::readable(hit.figures[i], term.field->unit, base::Style{}), term.operation_text,
                            term.value_text);
    }
    return text;
}

/// Adds the requests and responses of the commands that explain a figure of commands.
void add_command_frames(std::string_view path, const FlowSnapshot& flow, std::vector<std::uint64_t>& frames) {
    using metrics::CommandKindFigures;
    if (!flow.commands) return;
    const auto records = path == "io.errors"                                  ? &CommandKindFigures::failed
                         : path == "io.unanswered" || path == "io.waiting_ns" ? &CommandKindFigures::waiting
                         : path.starts_with("io.repair_")                     ? &CommandKindFigures::hurt
                                                                              : &CommandKindFigures::slowest;
    for (const CommandKindFigures& kind : flow.commands->kinds)
        for (const metrics::CommandRecord& record : kind.*records)
            for (const std::uint64_t frame : {record.request_last_frame, record.response_frame})
                if (frame != 0) frames.push_back(frame);
}

void add_frames(const Condition& condition, const FlowSnapshot& flow, std::vector<std::uint64_t>& frames) {
    bool shown = false;
    for (const Term& term : condition.terms) {
        if (!term.field->path.starts_with("io.")) continue;
        shown = true;
        add_command_frames(term.field->path, flow, frames);
    }
    for (const Term& term : condition.terms)
        for (const metrics::EventKind kind : find_event_kinds(term.field->path)) {
            shown = true;
            if (const metrics::EventSummary* const summary = flow.find_event_summary(kind))
                frames.insert(frames.end(), summary->frames.begin(), summary->frames.end());
        }
    if (shown) return;
    for (const metrics::EventSummary& summary : flow.event_summaries)
        frames.insert(frames.end(), summary.frames.begin(), summary.frames.end());
}

std::optional<Incident> judge_when(const When& when, const metrics::Snapshot& interval,
                                   const metrics::HostNames& names) {
    const metrics::CaptureFigures& capture = interval.capture;
    const exporters::Context context{
        .names = &names,
        .interval = exporters::Interval{capture.first_ns, static_cast<std::uint64_t>(capture.last_ns) -
                                                              static_cast<std::uint64_t>(capture.first_ns)}};
    std::vector<Hit> hits;
    for (const FlowSnapshot& flow : interval.flows)
        if (auto hit = try_flow(when.condition, {flow, context})) hits.push_back(std::move(*hit));
    if (hits.empty()) return {};
    sort_by_weight(hits, when.condition);

    Incident incident{.trigger = when.name};
    incident.reason =
        fmt::format("{}: {}", ends_of(*hits.front().flow, names), figures_text(when.condition, hits.front()));
    if (hits.size() > 1)
        incident.reason += fmt::format("; and so {} other flow{}", hits.size() - 1, hits.size() == 2 ? "" : "s");
    if (hits.size() > max_incident_flows) hits.resize(max_incident_flows);
    for (const Hit& hit : hits) {
        incident.flows.push_back(hit.flow->id);
        if (incident.frames.size() < max_incident_frames) add_frames(when.condition, *hit.flow, incident.frames);
    }
    tidy_frames(incident.frames);
    return incident;
}

/// The worst alarm with that verdict: answers come in that order.
std::optional<Incident> judge_verdict(const WaitForVerdict& wait, const std::vector<metrics::Answer>& answers) {
    const auto found = std::find_if(answers.begin(), answers.end(), [&wait](const metrics::Answer& answer) {
        return answer.alarm && answer.verdict == wait.verdict;
    });
    if (found == answers.end()) return {};
    Incident incident{.trigger = wait.name, .reason = found->summary, .flows = found->flows};
    if (incident.flows.size() > max_incident_flows) incident.flows.resize(max_incident_flows);
    for (const metrics::Evidence& evidence : found->evidence)
        incident.frames.insert(incident.frames.end(), evidence.frames.begin(), evidence.frames.end());
    tidy_frames(incident.frames);
    return incident;
}

class CompiledTriggers final : public Triggers {
public:
    explicit CompiledTriggers(std::vector<Trigger> triggers) : triggers_(std::move(triggers)) {}

    std::vector<Incident> judge(const metrics::Snapshot& interval, const metrics::HostNames& names,
                                const std::vector<metrics::Answer>& policy) override {
        std::optional<std::vector<metrics::Answer>> answers;
        std::vector<Incident> incidents;
        for (const Trigger& trigger : triggers_) {
            std::optional<Incident> incident;
            if (const When* const when = std::get_if<When>(&trigger)) {
                incident = judge_when(*when, interval, names);
            } else {
                const auto& wait = std::get<WaitForVerdict>(trigger);
                const bool of_policy = metrics::meaning_of(metrics::Question::policy, wait.verdict) != nullptr;
                if (!of_policy && !answers) answers = metrics::answer(interval, names);
                incident = judge_verdict(wait, of_policy ? policy : *answers);
            }
            if (incident) incidents.push_back(std::move(*incident));
        }
        return incidents;
    }

private:
    std::vector<Trigger> triggers_;
};

/// A verdict that raises an alarm for at least one question.
base::Result<metrics::Verdict> parse_alarm(const std::string& name) {
    std::vector<metrics::Verdict> alarms;
    for (std::size_t i = 0; i < metrics::question_count; ++i)
        for (const metrics::VerdictMeaning& each : metrics::verdicts(static_cast<metrics::Question>(i)))
            if (each.alarm && std::ranges::find(alarms, each.verdict) == alarms.end()) alarms.push_back(each.verdict);
    const std::optional<metrics::Verdict> verdict = metrics::verdict_named(name);
    if (verdict && std::ranges::find(alarms, *verdict) != alarms.end()) return *verdict;
    std::vector<std::string_view> names;
    for (const metrics::Verdict each : alarms) names.push_back(name_of(each));
    const std::string list = fmt::format("{}", fmt::join(names, ", "));
    if (verdict)
        return base::failure(fmt::format(
            "verdict '{}' describes and raises no alarm, so that it can set nothing off; there are: {}", name, list));
    return base::failure(
        fmt::format("'{}' is no verdict of why{}; there are: {}", name, base::did_you_mean(name, names), list));
}

base::Result<Trigger> compile_one(const TriggerConfig& config) {
    if (config.name.empty()) return base::failure("a name is required: it is part of the files' names");
    if (config.when.empty() == config.verdict.empty()) return base::failure("either `when` or `verdict` is required");
    if (config.when.empty()) {
        const auto verdict = parse_alarm(config.verdict);
        if (!verdict) return base::Failure{verdict.error()};
        return Trigger{WaitForVerdict{config.name, *verdict}};
    }
    auto condition = Condition::parse(config.when);
    if (!condition) return base::Failure{condition.error()};
    return Trigger{When{config.name, std::move(condition).value()}};
}

}  // namespace

base::Result<std::unique_ptr<Triggers>, base::Errors> Triggers::compile(const std::vector<TriggerConfig>& triggers) {
    std::vector<Trigger> compiled;
    base::Errors errors;
    for (const TriggerConfig& config : triggers) {
        auto trigger = compile_one(config);
        if (trigger)
            compiled.push_back(std::move(trigger).value());
        else
            errors.push_back({fmt::format("trigger '{}': {}", config.name, trigger.error().text())});
        const auto same = [&config](const TriggerConfig& other) { return other.name == config.name; };
        if (!config.name.empty() && &*std::find_if(triggers.begin(), triggers.end(), same) != &config)
            errors.push_back({fmt::format("trigger '{}': another trigger has this name", config.name)});
    }
    if (!errors.empty()) return base::Failure{std::move(errors)};
    return std::unique_ptr<Triggers>(std::make_unique<CompiledTriggers>(std::move(compiled)));
}

}  // namespace service::recorder
