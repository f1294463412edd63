#include "policy/learn.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>

#include "policy/compliance.h"
#include "policy/dscp.h"

namespace policy {
namespace {

using metrics::FlowSnapshot;
using wire::AddressFamily;

/// Services whose ports other flows use by chance at most.
struct KnownPort {
    std::uint16_t port;
    const char* name;
};
constexpr std::array known_ports{
    KnownPort{445, "SMB"},         KnownPort{3260, "iSER"}, KnownPort{4420, "NVMe"},
    KnownPort{5445, "SMB Direct"}, KnownPort{20049, "NFS"},
};
/// More ports than that are those of clients, or of a program that listens on many: one rule for each is no help.
constexpr std::size_t most_ports = 32;

/// IBTA vol. 1, 10.9.1.2.
constexpr std::uint16_t default_partition = 0xffff;

const char* name_of_port(std::uint16_t port) {
    const auto known = std::ranges::find(known_ports, port, &KnownPort::port);
    return known == known_ports.end() ? nullptr : known->name;
}

/// The port of the server, as far as flows show it: CM names it; of TCP's two ports, a well-known one, or the one that
/// more flows use.
class ServicePorts {
public:
    explicit ServicePorts(const metrics::Snapshot& snapshot) {
        for (const FlowSnapshot& flow : snapshot.flows)
            for (const metrics::Endpoint* end : {&flow.source, &flow.destination})
                if (end->port) ++uses_[*end->port];
    }
    std::optional<std::uint16_t> of(const FlowSnapshot& flow) const {
        if (const std::uint16_t port = service_port_of(flow); port != 0) return port;
        if (!flow.source.port || !flow.destination.port) return {};
        const std::uint16_t lower = std::min(*flow.source.port, *flow.destination.port);
        const std::uint16_t upper = std::max(*flow.source.port, *flow.destination.port);
        if (name_of_port(upper) != nullptr && name_of_port(lower) == nullptr) return upper;
        if (name_of_port(lower) != nullptr) return lower;
        return uses_.at(upper) > uses_.at(lower) ? upper : lower;
    }

private:
    std::map<std::uint16_t, std::uint64_t> uses_ = {};
};

Rules protocol_rules(const metrics::Snapshot& snapshot) {
    std::set<std::string> protocols;
    for (const FlowSnapshot& flow : snapshot.flows)
        if (flow.commands && !flow.commands->protocol.empty()) protocols.insert(flow.commands->protocol);
    Rules rules;
    for (const std::string& protocol : protocols) {
        rules.push_back({.name = protocol});
        rules.back().selection.protocols = {protocol};
    }
    return rules;
}

Rules port_rules(const metrics::Snapshot& snapshot) {
    const ServicePorts ports(snapshot);
    std::set<std::uint16_t> used;
    for (const FlowSnapshot& flow : snapshot.flows)
        if (const auto port = ports.of(flow)) used.insert(*port);
    if (used.size() > most_ports) std::erase_if(used, [](std::uint16_t port) { return name_of_port(port) == nullptr; });
    Rules rules;
    for (const std::uint16_t port : used) {
        const char* const name = name_of_port(port);
        rules.push_back(
            {.name = name != nullptr ? fmt::format("{} (port {})", name, port) : fmt::format("port {}", port)});
        rules.back().selection.ports = {{port, port}};
    }
    return rules;
}

Rules transport_rules() {
    Rules rules;
    for (const auto& [transport, name] :
         {std::pair(wire::Transport::roce2, "other RoCEv2"), std::pair(wire::Transport::roce1, "other RoCEv1"),
          std::pair(wire::Transport::infiniband, "other InfiniBand"), std::pair(wire::Transport::iwarp, "other iWARP")})
        rules.push_back({.name = name, .match = fmt::format("transport == \"{}\"", metrics::name_of(transport))});
    return rules;
}

template <class T>
void add_once(std::vector<T>& values, T value) {
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
}

/// What the flows of a rule have, the class with most bytes first.
struct Seen {
    std::map<metrics::PacketClass, std::uint64_t> bytes = {};
    bool has_dscp = false;
    std::set<AddressFamily> families = {};

    void add(const FlowSnapshot& flow) {
        for (const metrics::ClassFigures& one : flow.classes()) bytes[one.packet_class] += one.wire_bytes;
        families.insert(flow.source.address.family);
        has_dscp = has_dscp || flow.source.address.family != AddressFamily::lid;
    }
    void expect_in(Rule& rule) const {
        std::vector<std::pair<std::uint64_t, metrics::PacketClass>> by_bytes;
        by_bytes.reserve(bytes.size());
        for (const auto& [one, sum] : bytes) by_bytes.emplace_back(sum, one);
        std::ranges::stable_sort(by_bytes, std::ranges::greater(), [](const auto& each) { return each.first; });
        for (const auto& [sum, one] : by_bytes) {
            if (has_dscp) add_once(rule.dscp, one.dscp());
            if (const auto priority = one.vlan_priority()) add_once(rule.vlan_priorities, *priority);
            if (const auto level = one.service_level()) add_once(rule.service_levels, *level);
            if (const auto key = one.partition_key()) add_once(rule.partition_keys, *key);
        }
        // The partition that every adapter is in says nothing.
        if (rule.partition_keys == std::vector<std::uint16_t>{default_partition}) rule.partition_keys.clear();
        if (families == std::set{AddressFamily::ipv4}) rule.addresses = AddressKind::ipv4;
        if (families == std::set{AddressFamily::ipv6}) rule.addresses = AddressKind::ipv6;
    }
};

std::string toml_text(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + "\"";
}

/// One value, or a list; empty without a value.
template <class T, class Text>
std::string line_of(std::string_view key, const std::vector<T>& values, Text text) {
    if (values.empty()) return {};
    if (values.size() == 1) return fmt::format("{} = {}\n", key, text(values.front()));
    std::string list;
    for (const T& value : values) list += (list.empty() ? "" : ", ") + text(value);
    return fmt::format("{} = [{}]\n", key, list);
}

std::string port_text(PortRange range) {
    return range.first == range.last ? text_of(range) : toml_text(text_of(range));
}

std::string text_of(const Rule& rule) {
    std::string out = fmt::format("\n[[rule]]\nname = {}\n", toml_text(rule.name));
    if (!rule.match.empty()) out += fmt::format("match = {}\n", toml_text(rule.match));
    out += line_of("protocol", rule.selection.protocols, toml_text);
    out += line_of("ports", rule.selection.ports, port_text);
    if (rule.dscp.size() > 1 || rule.vlan_priorities.size() > 1 || rule.service_levels.size() > 1)
        out += "# Several classes were seen, the one with most bytes first. Keep those that are right.\n";
    out += line_of("dscp", rule.dscp, [](std::uint8_t one) {
        const std::string_view name = name_of_dscp(one);
        return name.empty() ? fmt::to_string(one) : toml_text(name);
    });
    out += line_of("vlan_priority", rule.vlan_priorities, [](std::uint8_t one) { return fmt::to_string(one); });
    out += line_of("service_level", rule.service_levels, [](std::uint8_t one) { return fmt::to_string(one); });
    out += line_of("partition_key", rule.partition_keys, [](std::uint16_t one) { return fmt::format("{:#06x}", one); });
    if (rule.addresses)
        out += fmt::format("addresses = \"{}\"\n", rule.addresses == AddressKind::ipv4 ? "ipv4" : "ipv6");
    return out;
}

}  // namespace

Rules learn(const metrics::Snapshot& snapshot, const exporters::Context& context) {
    Rules rules = protocol_rules(snapshot);
    for (Rules part : {port_rules(snapshot), transport_rules()})
        for (Rule& rule : part) rules.push_back(std::move(rule));
    std::vector<Seen> seen(rules.size());
    const std::vector<std::size_t> which = deciding_rules(rules, snapshot, context);
    for (std::size_t i = 0; i < which.size(); ++i)
        if (which[i] < rules.size()) seen[which[i]].add(snapshot.flows[i]);
    for (std::size_t i = 0; i < rules.size(); ++i) seen[i].expect_in(rules[i]);
    std::erase_if(rules, [](const Rule& rule) { return !rule.expects_class() && !rule.addresses; });
    return rules;
}

std::string rules_text(const Rules& rules, const std::string& origin) {
    std::string out = fmt::format(
        "# What {} shows: the class that each kind of traffic has now.\n"
        "# Correct the classes that are not as they should be, then: rdmascope policy check --rules FILE\n"
        "# The first rule that fits a flow decides. rdmascope-policy(1) lists all keys.\n",
        origin);
    for (const Rule& rule : rules) out += text_of(rule);
    return out;
}

}  // namespace policy
