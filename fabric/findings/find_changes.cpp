#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/quantities.h"
#include "fabric/findings/port_rules.h"
#include "fabric/findings/subnet_finding.h"

namespace fabric::findings {

namespace {

Finding change(FindingKind kind, Grade grade, PortId at, std::optional<PortId> peer, std::string observed) {
    Finding finding;
    finding.kind = kind;
    finding.grade = grade;
    finding.at = at;
    finding.peer = peer;
    finding.observed = std::move(observed);
    return finding;
}

const SubnetManager* master_of(const Subnet& subnet) {
    const auto found = std::ranges::find(subnet.managers, ManagerState::master, &SubnetManager::state);
    return found == subnet.managers.end() ? nullptr : &*found;
}

void compare_masters(const Subnet& before, const Subnet& after, std::vector<Finding>& into) {
    const SubnetManager* const old_master = master_of(before);
    const SubnetManager* const new_master = master_of(after);
    if (old_master == nullptr) return;
    if (new_master == nullptr) {
        Finding finding;
        finding.kind = FindingKind::no_manager;
        finding.grade = Grade::wrong;
        finding.at = old_master->port;
        finding.observed = "this subnet manager was master; now no subnet manager is master";
        finding.advice = "ask why it stopped; start opensm on a host or the subnet manager of a switch";
        into.push_back(std::move(finding));
        return;
    }
    if (old_master->port_guid == new_master->port_guid) return;
    Finding finding;
    finding.kind = FindingKind::manager_handover;
    finding.grade = Grade::minor;
    finding.at = new_master->port;
    finding.peer = old_master->port;
    finding.observed =
        fmt::format("another subnet manager is master: its priority is {}, that of the one before was {}",
                    new_master->priority, old_master->priority);
    finding.advice = "ask why the former master stopped; the LIDs should not have changed";
    into.push_back(std::move(finding));
}

void compare_nodes(const Subnet& before, const Subnet& after, std::vector<Finding>& into) {
    for (const Node& node : before.nodes)
        if (after.find(node.guid) == nullptr)
            into.push_back(
                change(FindingKind::node_lost, Grade::wrong, {node.guid, 0}, {}, "the node is no longer reached"));
    for (const Node& node : after.nodes) {
        const Node* const old_node = before.find(node.guid);
        if (old_node == nullptr) {
            into.push_back(change(FindingKind::node_new, Grade::note, {node.guid, 0}, {}, "the node is new"));
            continue;
        }
        for (const Port& port : node.ports) {
            const Port* const old_port = old_node->port(port.number);
            if (old_port == nullptr || !old_port->lid || !port.lid || *old_port->lid == *port.lid) continue;
            into.push_back(change(FindingKind::lid_changed, Grade::minor, {node.guid, port.number}, {},
                                  fmt::format("the LID was {} and is {}", *old_port->lid, *port.lid)));
        }
    }
}

void compare_links(const Subnet& before, const Subnet& after, std::vector<Finding>& into) {
    for (const Link& link : links_of(before)) {
        const Port* const port = after.find(link.from.id());
        if (port != nullptr && port->peer == link.to.id()) continue;
        into.push_back(change(FindingKind::link_lost, Grade::wrong, link.from.id(), link.to.id(), "the link is gone"));
    }
    for (const Link& link : links_of(after)) {
        const Port* const old_port = before.find(link.from.id());
        if (old_port == nullptr || old_port->peer != link.to.id()) {
            into.push_back(change(FindingKind::link_new, Grade::note, link.from.id(), link.to.id(), "the link is new"));
            continue;
        }
        const Port* const old_peer = before.find(link.to.id());
        const bool was_active =
            old_port->state == PortState::active && old_peer != nullptr && old_peer->state == PortState::active;
        if (was_active && !link.is_active())
            into.push_back(change(FindingKind::link_inactive, Grade::wrong, link.from.id(), link.to.id(),
                                  "the link was active, and is not active now"));
        const LinkRate old_rate = old_port->rate;
        const LinkRate new_rate = link.rate();
        if (old_rate == new_rate || !old_rate.known() || !new_rate.known()) continue;
        const bool slower = new_rate.bits_per_sec() < old_rate.bits_per_sec();
        into.push_back(
            change(FindingKind::rate_changed, slower ? Grade::wrong : Grade::note, link.from.id(), link.to.id(),
                   fmt::format("the link ran at {} {}, and runs at {} {}", width_name(old_rate.width),
                               speed_name(old_rate.speed), width_name(new_rate.width), speed_name(new_rate.speed))));
    }
}

/// The ends as if the earlier subnet's counters were the first reading.
void compare_counters(const Subnet& before, const Subnet& after, std::vector<Finding>& into) {
    for (const Link& link : links_of(after))
        for (const auto& [end, peer] : {std::pair(link.from, link.to), std::pair(link.to, link.from)}) {
            const Port* const old_port = before.find(end.id());
            if (old_port == nullptr || !old_port->latest() || !end.port->latest()) continue;
            Port joined = *end.port;
            joined.counters = old_port->latest();
            joined.later_counters = end.port->latest();
            joined.violations = {};  // compare_keys() compares these
            judge_counters({end.node, &joined}, peer, into);
        }
}

void compare_keys(const Subnet& before, const Subnet& after, std::vector<Finding>& into) {
    for (const Node& node : after.nodes)
        for (const Port& port : node.ports) {
            const PortId id{node.guid, port.number};
            const Port* const old_port = before.find(id);
            if (old_port == nullptr) continue;
            const auto add = [&](FindingKind kind, std::string_view name, unsigned old_count, unsigned count) {
                if (count <= old_count) return;
                into.push_back(change(kind, Grade::wrong, id, port.peer,
                                      fmt::format("{} grew by {}", name, base::group_digits(count - old_count))));
            };
            add(FindingKind::p_key_violations, "P_KeyViolations", old_port->violations.p_key, port.violations.p_key);
            add(FindingKind::q_key_violations, "Q_KeyViolations", old_port->violations.q_key, port.violations.q_key);
        }
}

}  // namespace

std::vector<Finding> find_changes(const Subnet& before, const Subnet& after) {
    std::vector<Finding> findings;
    compare_masters(before, after, findings);
    compare_nodes(before, after, findings);
    compare_links(before, after, findings);
    compare_counters(before, after, findings);
    compare_keys(before, after, findings);
    // A counter at its limit cannot tell two times apart.
    std::erase_if(findings,
                  [](const Finding& finding) { return !finding.evidence.empty() && !finding.evidence.front().grown; });
    sort_findings(findings);
    return findings;
}

}  // namespace fabric::findings
