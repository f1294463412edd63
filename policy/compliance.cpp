#include "policy/compliance.h"

#include <algorithm>
#include <fmt/core.h>

#include "exporters/filter/flow_filter.h"
#include "policy/dscp.h"

namespace policy {
namespace {

using wire::AddressFamily;
using wire::Transport;

constexpr std::uint16_t nvme_port = 4420;

/// A DSCP is part of an IP header, and of the GRH's traffic class.
bool has_dscp(const metrics::FlowSnapshot& flow) { return flow.source.address.family != AddressFamily::lid; }

bool is_ip(const metrics::FlowSnapshot& flow) {
    return flow.source.address.family == AddressFamily::ipv4 || flow.source.address.family == AddressFamily::ipv6;
}

const char* text_of(AddressKind kind) { return kind == AddressKind::ipv4 ? "IPv4" : "IPv6"; }

void judge(const metrics::FlowSnapshot& flow, RuleOutcome& outcome) {
    const Rule& rule = *outcome.rule;
    ++outcome.flows;
    if (rule.forbidden) {
        outcome.violations.push_back({&flow, "the flow exists"});
        return;
    }
    if ((rule.dscp && !has_dscp(flow)) || (rule.addresses && !is_ip(flow))) {
        ++outcome.unjudged;
        return;
    }
    std::string seen;
    if (const std::uint8_t dscp = dscp_of(flow.traffic_class); rule.dscp && dscp != *rule.dscp)
        seen = "DSCP " + dscp_text(dscp);
    const AddressKind kind = flow.source.address.family == AddressFamily::ipv4 ? AddressKind::ipv4 : AddressKind::ipv6;
    if (rule.addresses && kind != *rule.addresses) seen += fmt::format("{}{}", seen.empty() ? "" : ", ", text_of(kind));
    if (!seen.empty()) outcome.violations.push_back({&flow, std::move(seen)});
}

bool uses_port(const metrics::FlowSnapshot& flow, std::uint16_t port) {
    return flow.source.port == port || flow.destination.port == port;
}

}  // namespace

bool Compliance::broken() const {
    return std::any_of(rules.begin(), rules.end(), [](const RuleOutcome& rule) { return !rule.violations.empty(); });
}

Compliance check(const Rules& rules, const metrics::Snapshot& snapshot, const exporters::Context& context) {
    Compliance result;
    std::vector<exporters::filter::FlowFilter> filters;
    filters.reserve(rules.size());
    result.rules.reserve(rules.size());
    for (const Rule& rule : rules) {
        // read_rules() has refused what does not compile.
        filters.push_back(exporters::filter::FlowFilter::compile(rule.match).value());
        result.rules.push_back({.rule = &rule});
    }
    for (const metrics::FlowSnapshot& flow : snapshot.flows) {
        std::size_t which = 0;
        while (which < rules.size() && !filters[which].matches({flow, context})) ++which;
        if (which == rules.size())
            ++result.unruled;
        else
            judge(flow, result.rules[which]);
    }
    for (RuleOutcome& rule : result.rules)
        std::stable_sort(rule.violations.begin(), rule.violations.end(), [](const Violation& a, const Violation& b) {
            return a.flow->wire_bytes > b.flow->wire_bytes;
        });
    return result;
}

std::string expectation_of(const Rule& rule) {
    if (rule.forbidden) return "no such flow";
    std::string out;
    if (rule.dscp) out = "DSCP " + dscp_text(*rule.dscp);
    if (rule.addresses) out += fmt::format("{}{}", out.empty() ? "" : ", ", text_of(*rule.addresses));
    return out;
}

std::vector<std::string> remedies(const Rule& rule, const metrics::FlowSnapshot& flow) {
    if (!rule.dscp || dscp_of(flow.traffic_class) == *rule.dscp) return {};
    const unsigned value = traffic_class_of(*rule.dscp);
    if (uses_port(flow, nvme_port)) return {fmt::format("nvme connect --tos={} ...   (on the NVMe host)", value)};
    if (flow.transport == Transport::iwarp)
        return {
            fmt::format("rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, ...) with {} in the program", value)};
    return {fmt::format("cma_roce_tos -d DEVICE -t {}   (programs that use librdmacm)", value),
            fmt::format("NCCL_IB_TC={}   (NCCL)", value),
            fmt::format("UCX_IB_TRAFFIC_CLASS={}   (MPI over UCX)", value)};
}

}  // namespace policy
