#include "policy/compliance.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "exporters/filter/flow_filter.h"
#include "policy/dscp.h"
#include "policy/encryption.h"

namespace policy {
namespace {

using metrics::ClassFigures;
using metrics::PacketClass;
using wire::AddressFamily;

/// A DSCP is part of an IP header, and of the GRH's traffic class.
bool has_dscp(const metrics::FlowSnapshot& flow) { return flow.source.address.family != AddressFamily::lid; }

bool is_ip(const metrics::FlowSnapshot& flow) {
    return flow.source.address.family == AddressFamily::ipv4 || flow.source.address.family == AddressFamily::ipv6;
}

const char* text_of(AddressKind kind) { return kind == AddressKind::ipv4 ? "IPv4" : "IPv6"; }

template <class T>
bool permits(const std::vector<T>& values, T value) {
    return std::ranges::find(values, value) != values.end();
}

void append(std::string& text, const std::string& part) {
    if (!text.empty()) text += ", ";
    text += part;
}

/// What of a class a rule does not permit, in words. `judged`: whether the class has one of the properties at all.
std::string mismatch(const Rule& rule, const metrics::FlowSnapshot& flow, PacketClass seen, bool& judged) {
    std::string text;
    if (!rule.dscp.empty() && has_dscp(flow)) {
        judged = true;
        if (!permits(rule.dscp, seen.dscp())) append(text, "DSCP " + dscp_text(seen.dscp()));
    }
    if (const auto priority = seen.vlan_priority(); priority && !rule.vlan_priorities.empty()) {
        judged = true;
        if (!permits(rule.vlan_priorities, *priority)) append(text, fmt::format("VLAN priority {}", *priority));
    }
    if (const auto level = seen.service_level(); level && !rule.service_levels.empty()) {
        judged = true;
        if (!permits(rule.service_levels, *level)) append(text, fmt::format("SL {}", *level));
    }
    if (const auto key = seen.partition_key(); key && !rule.partition_keys.empty()) {
        judged = true;
        const auto same = [key](std::uint16_t one) { return partition_of(one) == partition_of(*key); };
        if (std::ranges::none_of(rule.partition_keys, same)) append(text, fmt::format("P_Key {:#06x}", *key));
    }
    return text;
}

/// Adds the packets of one class to what is wrong with a flow.
void add_class(Violation& violation, const ClassFigures& one, const std::string& text) {
    if (violation.packets == 0) {
        violation.first_frame = one.first_frame;
        violation.first_ns = one.first_ns;
    }
    violation.packets += one.packets;
    violation.wire_bytes += one.wire_bytes;
    violation.seen += (violation.seen.empty() ? "" : " and ") + text;
}

/// How a flow whose packets have several classes changes between them.
std::string changes_of(const metrics::FlowSnapshot& flow, const std::vector<ClassFigures>& classes) {
    if (classes.size() < 2 && flow.class_changes == 0) return {};
    return fmt::format(", which {} within the flow",
                       flow.class_changes > 1 ? fmt::format("changes {} times", flow.class_changes) : "changes");
}

/// What of the flow's ends a rule does not permit, in words: this is the same for all its packets.
std::string end_mismatch(const Rule& rule, const metrics::FlowSnapshot& flow, bool& judged) {
    std::string text;
    if (rule.addresses && is_ip(flow)) {
        judged = true;
        const AddressKind kind =
            flow.source.address.family == AddressFamily::ipv4 ? AddressKind::ipv4 : AddressKind::ipv6;
        if (kind != *rule.addresses) append(text, text_of(kind));
    }
    const std::vector<std::uint16_t> ports = ports_of(flow);
    if (!rule.ports.empty() && !ports.empty()) {
        judged = true;
        if (std::ranges::none_of(ports, [&rule](std::uint16_t port) { return any_holds(rule.ports, port); }))
            append(text, fmt::format("port {}", fmt::join(ports, " to ")));
    }
    if (!rule.udp_source_ports.empty() && flow.udp_port) {
        judged = true;
        if (!any_holds(rule.udp_source_ports, *flow.udp_port))
            append(text, fmt::format("UDP source port {}", *flow.udp_port));
    }
    return text;
}

void judge_class(const metrics::FlowSnapshot& flow, RuleOutcome& outcome) {
    const Rule& rule = *outcome.rule;
    Violation violation{.flow = &flow};
    bool judged = false;
    const std::vector<ClassFigures> classes = flow.classes();
    for (const ClassFigures& one : classes) {
        const std::string text = mismatch(rule, flow, one.packet_class, judged);
        if (!text.empty()) add_class(violation, one, text);
    }
    if (!violation.seen.empty()) violation.seen += changes_of(flow, classes);
    if (const std::string text = end_mismatch(rule, flow, judged); !text.empty()) {
        append(violation.seen, text);
        violation.packets = flow.packets;
        violation.wire_bytes = flow.wire_bytes;
        violation.first_frame = metrics::first_frame_of(flow.id);
        violation.first_ns = flow.first_ns;
    }
    if (!judged) ++outcome.unjudged;
    if (!violation.seen.empty()) outcome.violations.push_back(std::move(violation));
}

void judge(const metrics::FlowSnapshot& flow, RuleOutcome& outcome) {
    ++outcome.flows;
    outcome.wire_bytes += flow.wire_bytes;
    outcome.packets += flow.packets;
    if (!outcome.rule->forbidden) return judge_class(flow, outcome);
    outcome.violations.push_back({.flow = &flow,
                                  .seen = "the flow exists",
                                  .packets = flow.packets,
                                  .wire_bytes = flow.wire_bytes,
                                  .first_frame = metrics::first_frame_of(flow.id),
                                  .first_ns = flow.first_ns});
}

/// The first rule about encryption decides, as the first rule that fits a flow does.
void judge_encryption(const metrics::CaptureFigures& capture, Compliance& result) {
    wire::CarrierCounts encrypted;
    for (const wire::CarrierCounts::Row& row : capture.unread.rows())
        if (is_encrypted(row.carrier)) encrypted.add(row.carrier, row.frames);
    result.encrypted_frames = encrypted.frames();
    result.encrypted = wire::list_text(encrypted);
    const auto decides = std::ranges::find_if(
        result.rules, [](const RuleOutcome& outcome) { return outcome.rule->encryption.has_value(); });
    if (decides != result.rules.end() && decides->rule->forbids_encryption())
        decides->encrypted_frames = result.encrypted_frames;
}

template <class T, class Text>
void append_values(std::string& out, const char* what, const std::vector<T>& values, Text text) {
    if (values.empty()) return;
    std::string list;
    for (const T value : values) list += (list.empty() ? "" : " or ") + text(value);
    append(out, fmt::format("{} {}", what, list));
}

}  // namespace

std::uint64_t RuleOutcome::broken_bytes() const {
    std::uint64_t sum = 0;
    for (const Violation& violation : violations) sum += violation.wire_bytes;
    return sum;
}

std::uint64_t RuleOutcome::broken_packets() const {
    std::uint64_t sum = encrypted_frames;
    for (const Violation& violation : violations) sum += violation.packets;
    return sum;
}

bool Compliance::broken() const { return std::ranges::any_of(rules, &RuleOutcome::broken); }

bool Compliance::encryption_is_broken() const {
    return std::ranges::any_of(rules, [](const RuleOutcome& rule) { return rule.encrypted_frames != 0; });
}

bool Compliance::saw_nothing() const {
    return unruled == 0 &&
           std::ranges::all_of(rules, [](const RuleOutcome& rule) { return rule.flows == 0 && !rule.broken(); });
}

double Compliance::broken_share() const {
    std::uint64_t all = 0;
    std::uint64_t wrong = 0;
    for (const RuleOutcome& rule : rules) {
        all += rule.wire_bytes;
        wrong += rule.broken_bytes();
    }
    if (encryption_is_broken()) return 1;
    if (wrong == 0) return broken() ? 1 : 0;
    return std::min(1.0, static_cast<double>(wrong) / static_cast<double>(all));
}

std::vector<std::size_t> deciding_rules(const Rules& rules, const metrics::Snapshot& snapshot,
                                        const exporters::Context& context) {
    std::vector<exporters::filter::FlowFilter> filters;
    filters.reserve(rules.size());
    // read_rules() has refused what does not compile.
    for (const Rule& rule : rules) filters.push_back(exporters::filter::FlowFilter::compile(rule.match).value());
    std::vector<std::size_t> which;
    which.reserve(snapshot.flows.size());
    for (const metrics::FlowSnapshot& flow : snapshot.flows) {
        std::size_t rule = 0;
        while (rule < rules.size() && (rules[rule].encryption || !rules[rule].selection.holds(flow) ||
                                       !filters[rule].matches({flow, context})))
            ++rule;
        which.push_back(rule);
    }
    return which;
}

Compliance check(const Rules& rules, const metrics::Snapshot& snapshot, const exporters::Context& context) {
    Compliance result;
    result.rules.reserve(rules.size());
    for (const Rule& rule : rules) result.rules.push_back({.rule = &rule});
    const std::vector<std::size_t> which = deciding_rules(rules, snapshot, context);
    for (std::size_t i = 0; i < which.size(); ++i) {
        if (which[i] == rules.size())
            ++result.unruled;
        else
            judge(snapshot.flows[i], result.rules[which[i]]);
    }
    judge_encryption(snapshot.capture, result);
    for (RuleOutcome& rule : result.rules)
        std::ranges::stable_sort(rule.violations, std::ranges::greater(), &Violation::wire_bytes);
    return result;
}

std::string expectation_of(const Rule& rule) {
    if (rule.forbidden) return "no such flow";
    if (rule.encryption) return *rule.encryption ? "frames that may be encrypted" : "no encrypted frame";
    std::string out;
    append_values(out, "DSCP", rule.dscp, dscp_text);
    append_values(out, "VLAN priority", rule.vlan_priorities, [](std::uint8_t one) { return fmt::to_string(one); });
    append_values(out, "SL", rule.service_levels, [](std::uint8_t one) { return fmt::to_string(one); });
    append_values(out, "P_Key", rule.partition_keys, [](std::uint16_t one) { return fmt::format("{:#06x}", one); });
    if (rule.addresses) append(out, text_of(*rule.addresses));
    append_values(out, "port", rule.ports, [](PortRange one) { return text_of(one); });
    append_values(out, "UDP source port", rule.udp_source_ports, [](PortRange one) { return text_of(one); });
    return out;
}

}  // namespace policy
