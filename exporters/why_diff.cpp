#include "exporters/why_diff.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/quantities.h"
#include "metrics/figures/latencies.h"

namespace exporters {

namespace {

using Json = nlohmann::ordered_json;
using metrics::ComparedFigure;
using metrics::ComparedFinding;
using metrics::ComparedGroup;
using metrics::FigureChange;
using metrics::FindingChange;

constexpr std::size_t brief_groups = 8;  ///< pairs of hosts that are shown, without -v

bool is_latency(ComparedFigure figure) {
    return figure == ComparedFigure::latency_p50 || figure == ComparedFigure::latency_p99;
}

std::string figure_label(const FigureChange& change) {
    switch (change.figure) {
        case ComparedFigure::latency_p50: return fmt::format("p50 of {}", metrics::plural_of(*change.operation));
        case ComparedFigure::latency_p99: return fmt::format("p99 of {}", metrics::plural_of(*change.operation));
        case ComparedFigure::goodput: return "goodput (message bytes)";
        case ComparedFigure::retransmitted: return "packets sent again";
        case ComparedFigure::rnr_naks: return "RNR NAKs per packet";
        case ComparedFigure::ecn_ce: return "packets marked CE";
        case ComparedFigure::cnps: return "CNPs per packet";
    }
    return {};
}

std::string value_text(const FigureChange& change, double value) {
    if (is_latency(change.figure)) return base::format_duration(value);
    if (change.figure == ComparedFigure::goodput) return base::format_bit_rate(value * 8);
    return base::format_percent(value);
}

/// "28 times", "0.2 times".
std::string factor_text(const FigureChange& change) {
    return change.before > 0 ? fmt::format("{} times", base::format_decimal(change.after / change.before)) : "new";
}

std::string_view direction_of(const FigureChange& change) { return change.worse > 0 ? "worse" : "better"; }

/// "192.0.2.1 to 192.0.2.2, client of port 7174".
std::string hosts_text(const ComparedGroup& group, const metrics::HostNames& names) {
    std::string text = fmt::format("{} to {}", names.text(group.source), names.text(group.destination));
    if (group.server_port)
        text += group.role == metrics::GroupRole::client ? fmt::format(", port {}", *group.server_port)
                                                         : fmt::format(", from port {}", *group.server_port);
    return text;
}

std::string flows_text(const metrics::FlowGroup& group) {
    return fmt::format("flow{} {}", group.flows.size() == 1 ? "" : "s",
                       fmt::join(group.flows.begin(),
                                 group.flows.begin() +
                                     static_cast<std::ptrdiff_t>(std::min<std::size_t>(group.flows.size(), 4)),
                                 ", ")) +
           (group.flows.size() > 4 ? fmt::format(" and {} more", group.flows.size() - 4) : "");
}

std::string finding_text(const ComparedFinding& finding) {
    switch (finding.change) {
        case FindingChange::appeared: return fmt::format("new: {}", label_of(*finding.after));
        case FindingChange::gone: return fmt::format("gone; it was {}", label_of(*finding.before));
        default: return fmt::format("{}; it was {}", label_of(*finding.after), label_of(*finding.before));
    }
}

class DiffPage {
public:
    DiffPage(const metrics::CaptureComparison& comparison, const metrics::HostNames& names, const WhyPageStyle& style)
        : comparison_(comparison), names_(names), style_(style) {}

    std::string print(const DiffSide& before, const DiffSide& after) {
        side("Before:", before);
        side("After: ", after);
        findings(
            "Worse", [](FindingChange change) { return change <= FindingChange::worse; }, true);
        findings(
            "As before", [](FindingChange change) { return change == FindingChange::same; }, false);
        findings(
            "Better", [](FindingChange change) { return change >= FindingChange::better; }, false);
        groups();
        return std::move(out_);
    }

private:
    std::string bold(std::string_view text) const {
        return style_.color ? fmt::format("\x1b[1m{}\x1b[0m", text) : std::string(text);
    }

    void side(std::string_view word, const DiffSide& one) {
        const Headline headline = headline_of(one.snapshot, one.answers);
        out_ += fmt::format("{}  {}: {}: {}\n", bold(word), one.path, headline.label, headline.text);
    }

    template <class Which>
    void findings(std::string_view heading, Which which, bool says_nothing) {
        bool begun = false;
        for (const ComparedFinding& finding : comparison_.findings) {
            if (!which(finding.change)) continue;
            if (!begun) out_ += fmt::format("\n{}\n", bold(heading));
            begun = true;
            out_ += fmt::format("  {}: {}  {}\n", name_of(finding.question), name_of(finding.verdict),
                                finding_text(finding));
            if (finding.change <= FindingChange::worse)
                out_ += fmt::format("    {}\n    Do: {}\n", finding.after->summary, finding.after->advice);
        }
        if (!begun && says_nothing) out_ += fmt::format("\n{}\n  no finding\n", bold(heading));
    }

    void groups() {
        std::size_t shown = 0;
        std::size_t alike = 0;
        std::size_t left_out = 0;
        for (const ComparedGroup& group : comparison_.groups) {
            const bool matched = group.before && group.after;
            if (matched && group.changes.empty() && group.states.empty()) {
                ++alike;
                continue;
            }
            if (shown == brief_groups && !style_.verbose) {
                ++left_out;
                continue;
            }
            ++shown;
            show(group);
        }
        out_ += '\n';
        if (left_out != 0)
            out_ += fmt::format("{} with changes not shown: -v shows all\n",
                                base::format_counted(left_out, "more pair of hosts", "more pairs of hosts"));
        if (alike != 0)
            out_ += fmt::format("{} without a change of 10 % or more\n",
                                base::format_counted(alike, "pair of hosts", "pairs of hosts"));
    }

    void show(const ComparedGroup& group) {
        out_ += fmt::format("\n{}", bold(hosts_text(group, names_)));
        if (!group.before) {
            out_ += fmt::format("\n  only after: {}\n", flows_text(*group.after));
            return;
        }
        if (!group.after) {
            out_ += fmt::format("\n  only before: {}\n", flows_text(*group.before));
            return;
        }
        out_ += fmt::format("  before: {}; after: {}\n", flows_text(*group.before), flows_text(*group.after));
        for (const FigureChange& change : group.changes)
            out_ += fmt::format("  {:<28} {:>12} -> {:<12} {:>10}  {}\n", figure_label(change),
                                value_text(change, change.before), value_text(change, change.after),
                                factor_text(change), direction_of(change));
        if (!group.states.empty()) out_ += fmt::format("  time: {}\n", group.states);
    }

    const metrics::CaptureComparison& comparison_;
    const metrics::HostNames& names_;
    const WhyPageStyle& style_;
    std::string out_ = {};
};

Json side_json(const DiffSide& side) {
    return {{"file", side.path}, {"grade", name_of(metrics::grade_of(side.snapshot, side.answers))}};
}

Json finding_json(const std::optional<metrics::Answer>& answer) {
    if (!answer) return nullptr;
    return {{"grade", name_of(grade_of(*answer))},
            {"cost", answer->cost.share},
            {"cost_of", name_of(answer->cost.basis)},
            {"confidence", answer->confidence},
            {"summary", answer->summary},
            {"advice", answer->advice},
            {"flows", answer->flows}};
}

Json group_json(const std::optional<metrics::FlowGroup>& group) {
    if (!group) return nullptr;
    Json latencies = Json::object();
    for (std::size_t i = 0; i < metrics::operation_count; ++i) {
        const metrics::Histogram& latency = group->operations[i].latency_ns;
        if (!latency.empty())
            latencies[std::string(metrics::operation_names[i])] = {
                {"count", latency.count()}, {"p50", *latency.quantile(0.5)}, {"p99", *latency.quantile(0.99)}};
    }
    const auto goodput = group->goodput_bytes_per_sec();
    return {{"flows", group->flows},
            {"messages", group->messages},
            {"bytes", group->bytes},
            {"packets", group->packets},
            {"goodput_bytes_per_sec", goodput ? Json(*goodput) : Json(nullptr)},
            {"latency_ns", std::move(latencies)},
            {"retransmitted_packets", group->retransmitted_packets},
            {"rnr_naks", group->rnr_naks},
            {"ecn_ce_packets", group->ecn_ce_packets},
            {"cnp_packets", group->cnp_packets}};
}

Json change_json(const FigureChange& change) {
    const std::string_view unit = is_latency(change.figure)                  ? "ns"
                                  : change.figure == ComparedFigure::goodput ? "bytes/s"
                                                                             : "share";
    return {{"figure", name_of(change.figure)},
            {"operation", change.operation ? Json(metrics::name_of(*change.operation)) : Json(nullptr)},
            {"unit", unit},
            {"before", change.before},
            {"after", change.after},
            {"worse", change.worse > 0}};
}

}  // namespace

std::string diff_page(const metrics::CaptureComparison& comparison, const DiffSide& before, const DiffSide& after,
                      const metrics::HostNames& names, const WhyPageStyle& style) {
    return DiffPage(comparison, names, style).print(before, after);
}

std::string diff_json(const metrics::CaptureComparison& comparison, const DiffSide& before, const DiffSide& after) {
    Json findings = Json::array();
    for (const ComparedFinding& finding : comparison.findings)
        findings.push_back({{"question", name_of(finding.question)},
                            {"verdict", name_of(finding.verdict)},
                            {"change", name_of(finding.change)},
                            {"before", finding_json(finding.before)},
                            {"after", finding_json(finding.after)}});
    Json groups = Json::array();
    for (const ComparedGroup& group : comparison.groups) {
        Json changes = Json::array();
        for (const FigureChange& change : group.changes) changes.push_back(change_json(change));
        groups.push_back({{"transport", metrics::name_of(group.transport)},
                          {"source", metrics::to_text(group.source)},
                          {"destination", metrics::to_text(group.destination)},
                          {"role", name_of(group.role)},
                          {"server_port", group.server_port ? Json(*group.server_port) : Json(nullptr)},
                          {"before", group_json(group.before)},
                          {"after", group_json(group.after)},
                          {"changes", std::move(changes)},
                          {"time", group.states.empty() ? Json(nullptr) : Json(group.states)}});
    }
    const Json all{{"before", side_json(before)},
                   {"after", side_json(after)},
                   {"grade", name_of(comparison.grade)},
                   {"findings", std::move(findings)},
                   {"groups", std::move(groups)}};
    return all.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace exporters
