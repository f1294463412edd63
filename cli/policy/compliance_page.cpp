#include "cli/policy/compliance_page.h"

#include <algorithm>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/quantities.h"
#include "base/shell_word.h"
#include "policy/remedies.h"

namespace cli::policy {
namespace {

using ::policy::Compliance;
using ::policy::RuleOutcome;
using ::policy::Violation;

constexpr std::size_t most_flows_shown = 10;

std::string first_line(const Compliance& compliance) {
    if (compliance.saw_nothing()) return "NOTHING TO JUDGE: no flow was seen.\n";
    std::uint64_t broken = 0;
    std::uint64_t flows = 0;
    std::uint64_t bytes = 0;
    for (const RuleOutcome& rule : compliance.rules) {
        broken += rule.broken() ? 1 : 0;
        flows += rule.violations.size();
        bytes += rule.broken_bytes();
    }
    if (broken == 0) return "OK: the traffic keeps to the rules.\n";
    std::string by;
    if (flows != 0)
        by = fmt::format("{} ({})", base::format_counted(flows, "flow"), base::format_size(static_cast<double>(bytes)));
    if (compliance.encryption_is_broken())
        by += (by.empty() ? "" : " and ") + base::format_counted(compliance.encrypted_frames, "encrypted frame");
    return fmt::format("{}: {} of {} broken, by {}.\n", compliance.broken_share() < minor_share ? "MINOR" : "WRONG",
                       broken, base::format_counted(compliance.rules.size(), "rule"), by);
}

/// Encrypted frames that no rule forbids: RDMA in them is not judged.
std::string permitted_encryption(const Compliance& compliance) {
    if (compliance.encrypted_frames == 0 || compliance.encryption_is_broken()) return {};
    const auto rule = std::ranges::find_if(
        compliance.rules, [](const RuleOutcome& outcome) { return outcome.rule->encryption.has_value(); });
    const std::string by = rule == compliance.rules.end() ? "no rule is about encryption"
                                                          : fmt::format("rule \"{}\" permits it", rule->rule->name);
    return fmt::format("\nEncrypted, so RDMA inside is not judged: {}; {}.\n", compliance.encrypted, by);
}

/// "960 packets", "3 of 960 packets".
std::string packets_text(const Violation& violation) {
    const std::uint64_t all = violation.flow->packets;
    const std::string text = base::format_counted(all, "packet");
    return violation.packets == all ? text : fmt::format("{} of {}", violation.packets, text);
}

void append_violation(std::string& out, const Violation& violation, const exporters::Context& context,
                      const std::string& read_path) {
    const metrics::FlowSnapshot& flow = *violation.flow;
    out += fmt::format("  {} > {}: {}; {} in {}, since {}\n", exporters::endpoint_text(flow.source, context.names),
                       exporters::endpoint_text(flow.destination, context.names), violation.seen,
                       base::format_size(static_cast<double>(violation.wire_bytes)), packets_text(violation),
                       exporters::iso_time(violation.first_ns));
    if (flow.verbs && flow.verbs->process.pid != 0)
        out += fmt::format("    Sent by:  {}\n", exporters::program_text(flow.verbs->process));
    if (!read_path.empty())
        out += fmt::format("    See:  rdmascope dump -# -r {} --flow {}{}\n", base::shell_word(read_path), flow.id,
                           violation.first_frame == metrics::first_frame_of(flow.id)
                               ? ""
                               : fmt::format(" -Y 'frame.number >= {}'", violation.first_frame));
}

void append_rule(std::string& out, const RuleOutcome& rule, const std::string& encrypted,
                 const exporters::Context& context, const std::string& read_path) {
    if (rule.violations.empty()) {
        out += fmt::format("\nrule \"{}\": {} expected; there are {}\n", rule.rule->name,
                           ::policy::expectation_of(*rule.rule), encrypted);
        return;
    }
    out += fmt::format("\nrule \"{}\": {} expected; {} of {} differ\n", rule.rule->name,
                       ::policy::expectation_of(*rule.rule), rule.violations.size(),
                       base::format_counted(rule.flows, "flow"));
    const std::size_t shown = std::min(rule.violations.size(), most_flows_shown);
    for (std::size_t i = 0; i < shown; ++i) append_violation(out, rule.violations[i], context, read_path);
    if (shown < rule.violations.size()) out += fmt::format("  and {} more\n", rule.violations.size() - shown);
    const metrics::FlowSnapshot& largest = *rule.violations.front().flow;
    metrics::Endpoint sender;
    sender.address = largest.source.address;
    for (const ::policy::Remedy& remedy : ::policy::remedies(*rule.rule, largest))
        out += fmt::format("  {} on {}:  {}\n", remedy.is_addition ? "Then" : "Do",
                           exporters::endpoint_text(sender, context.names), ::policy::text_of(remedy));
}

nlohmann::ordered_json remedies_json(const ::policy::Rule& rule, const metrics::FlowSnapshot& flow) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const ::policy::Remedy& remedy : ::policy::remedies(rule, flow)) list.push_back(::policy::text_of(remedy));
    return list;
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
                         {"wire_bytes", violation.wire_bytes},
                         {"packets", violation.packets},
                         {"flow_packets", flow.packets},
                         {"class_changes", flow.class_changes},
                         {"first_frame", violation.first_frame},
                         {"first_ns", violation.first_ns},
                         {"last_ns", flow.last_ns},
                         {"remedies", remedies_json(*rule.rule, flow)}});
    }
    return {{"name", rule.rule->name},
            {"match", rule.rule->match},
            {"expected", ::policy::expectation_of(*rule.rule)},
            {"flows", rule.flows},
            {"unjudged", rule.unjudged},
            {"encrypted_frames", rule.encrypted_frames},
            {"violations", std::move(flows)}};
}

const char* grade_of(const Compliance& compliance) {
    if (compliance.saw_nothing()) return "nothing";
    if (!compliance.broken()) return "ok";
    return compliance.broken_share() < minor_share ? "minor" : "wrong";
}

}  // namespace

std::string compliance_page(const Compliance& compliance, const exporters::Context& context,
                            const std::string& read_path) {
    std::string out = first_line(compliance);
    std::uint64_t unjudged = 0;
    for (const RuleOutcome& rule : compliance.rules) {
        unjudged += rule.unjudged;
        if (rule.broken()) append_rule(out, rule, compliance.encrypted, context, read_path);
    }
    if (unjudged != 0)
        out += fmt::format("\n{} could not be judged: their packets have nothing of what the rule expects.\n",
                           base::format_counted(unjudged, "flow"));
    out += permitted_encryption(compliance);
    if (compliance.unruled != 0)
        out += fmt::format("\nNo rule is about {}.\n", base::format_counted(compliance.unruled, "flow"));
    return out;
}

std::string compliance_json(const Compliance& compliance, const exporters::Context& context) {
    nlohmann::ordered_json rules = nlohmann::ordered_json::array();
    for (const RuleOutcome& rule : compliance.rules) rules.push_back(json_of(rule, context));
    const nlohmann::ordered_json document{{"grade", grade_of(compliance)},
                                          {"rules", std::move(rules)},
                                          {"unruled_flows", compliance.unruled},
                                          {"encrypted_frames", compliance.encrypted_frames}};
    return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace cli::policy
