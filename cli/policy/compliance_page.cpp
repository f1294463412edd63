#include "cli/policy/compliance_page.h"

#include <algorithm>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/quantities.h"
#include "base/shell_word.h"

namespace cli::policy {
namespace {

using ::policy::Compliance;
using ::policy::RuleOutcome;
using ::policy::Violation;

constexpr std::size_t most_flows_shown = 10;

std::uint64_t bytes_of(const RuleOutcome& rule) {
    std::uint64_t sum = 0;
    for (const Violation& violation : rule.violations) sum += violation.flow->wire_bytes;
    return sum;
}

std::string first_line(const Compliance& compliance) {
    std::uint64_t broken = 0;
    std::uint64_t flows = 0;
    std::uint64_t bytes = 0;
    for (const RuleOutcome& rule : compliance.rules) {
        broken += rule.violations.empty() ? 0 : 1;
        flows += rule.violations.size();
        bytes += bytes_of(rule);
    }
    if (broken == 0) return "OK: the traffic keeps to the rules.\n";
    return fmt::format("WRONG: {} of {} broken, by {} ({}).\n", broken,
                       base::format_counted(compliance.rules.size(), "rule"), base::format_counted(flows, "flow"),
                       base::format_size(static_cast<double>(bytes)));
}

void append_violation(std::string& out, const Violation& violation, const exporters::Context& context,
                      const std::string& read_path) {
    const metrics::FlowSnapshot& flow = *violation.flow;
    out += fmt::format("  {} > {}: {}; {} in {}, since {}\n", exporters::endpoint_text(flow.source, context.names),
                       exporters::endpoint_text(flow.destination, context.names), violation.seen,
                       base::format_size(static_cast<double>(flow.wire_bytes)),
                       base::format_counted(flow.packets, "packet"), exporters::iso_time(flow.first_ns));
    if (!read_path.empty())
        out += fmt::format("    See:  rdmascope dump -# -r {} --flow {}\n", base::shell_word(read_path), flow.id);
}

void append_rule(std::string& out, const RuleOutcome& rule, const exporters::Context& context,
                 const std::string& read_path) {
    out += fmt::format("\nrule \"{}\": {} expected; {} of {} differ\n", rule.rule->name,
                       ::policy::expectation_of(*rule.rule), rule.violations.size(),
                       base::format_counted(rule.flows, "flow"));
    const std::size_t shown = std::min(rule.violations.size(), most_flows_shown);
    for (std::size_t i = 0; i < shown; ++i) append_violation(out, rule.violations[i], context, read_path);
    if (shown < rule.violations.size()) out += fmt::format("  and {} more\n", rule.violations.size() - shown);
    const metrics::FlowSnapshot& largest = *rule.violations.front().flow;
    metrics::Endpoint sender;
    sender.address = largest.source.address;
    for (const std::string& remedy : ::policy::remedies(*rule.rule, largest))
        out += fmt::format("  Do on {}:  {}\n", exporters::endpoint_text(sender, context.names), remedy);
}

nlohmann::ordered_json json_of(const RuleOutcome& rule, const exporters::Context& context) {
    nlohmann::ordered_json flows = nlohmann::ordered_json::array();
    for (const Violation& violation : rule.violations) {
        const metrics::FlowSnapshot& flow = *violation.flow;
        flows.push_back({{"flow", flow.id},
                         {"source", exporters::endpoint_text(flow.source, context.names)},
                         {"destination", exporters::endpoint_text(flow.destination, context.names)},
                         {"seen", violation.seen},
                         {"traffic_class", flow.traffic_class},
                         {"wire_bytes", flow.wire_bytes},
                         {"packets", flow.packets},
                         {"first_ns", flow.first_ns},
                         {"last_ns", flow.last_ns},
                         {"remedies", ::policy::remedies(*rule.rule, flow)}});
    }
    return {{"name", rule.rule->name}, {"match", rule.rule->match}, {"expected", ::policy::expectation_of(*rule.rule)},
            {"flows", rule.flows},     {"unjudged", rule.unjudged}, {"violations", std::move(flows)}};
}

}  // namespace

std::string compliance_page(const Compliance& compliance, const exporters::Context& context,
                            const std::string& read_path) {
    std::string out = first_line(compliance);
    std::uint64_t unjudged = 0;
    for (const RuleOutcome& rule : compliance.rules) {
        unjudged += rule.unjudged;
        if (!rule.violations.empty()) append_rule(out, rule, context, read_path);
    }
    if (unjudged != 0)
        out += fmt::format("\n{} could not be judged: InfiniBand without a GRH has no DSCP and no IP address.\n",
                           base::format_counted(unjudged, "flow"));
    if (compliance.unruled != 0)
        out += fmt::format("\nNo rule is about {}.\n", base::format_counted(compliance.unruled, "flow"));
    return out;
}

std::string compliance_json(const Compliance& compliance, const exporters::Context& context) {
    nlohmann::ordered_json rules = nlohmann::ordered_json::array();
    for (const RuleOutcome& rule : compliance.rules) rules.push_back(json_of(rule, context));
    const nlohmann::ordered_json document{{"grade", compliance.broken() ? "wrong" : "ok"},
                                          {"rules", std::move(rules)},
                                          {"unruled_flows", compliance.unruled}};
    return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace cli::policy
