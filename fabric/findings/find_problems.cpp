#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "base/quantities.h"
#include "base/text_format.h"
#include "fabric/findings/port_rules.h"
#include "fabric/findings/subnet_finding.h"
#include "fabric/node_names.h"

namespace fabric::findings {

namespace {

std::vector<const SubnetManager*> masters_of(const Subnet& subnet) {
    std::vector<const SubnetManager*> masters;
    for (const SubnetManager& manager : subnet.managers)
        if (manager.state == ManagerState::master) masters.push_back(&manager);
    return masters;
}

/// Whether a port says that a subnet manager runs there, and the manager did not answer.
bool has_silent_manager(const Subnet& subnet) {
    const auto is_silent = [&](const Node& node, const Port& port) {
        return port.has_manager && (node.type != NodeType::switch_node || port.number == 0) &&
               std::ranges::find(subnet.managers, PortId{node.guid, port.number}, &SubnetManager::port) ==
                   subnet.managers.end();
    };
    return std::ranges::any_of(subnet.nodes, [&](const Node& node) {
        return std::ranges::any_of(node.ports, [&](const Port& port) { return is_silent(node, port); });
    });
}

void judge_managers(const Subnet& subnet, std::vector<Finding>& into) {
    const auto masters = masters_of(subnet);
    // A manager that does not answer could be the master: judge_answers() reports it.
    if (masters.empty() && !has_silent_manager(subnet)) {
        Finding finding;
        finding.kind = FindingKind::no_manager;
        finding.grade = Grade::wrong;
        finding.observed = "no subnet manager is master: new ports get no LID, and new connections no path";
        finding.advice = "start opensm on a host or the subnet manager of a switch";
        into.push_back(std::move(finding));
    }
    for (std::size_t i = 1; i < masters.size(); ++i) {
        Finding finding;
        finding.kind = FindingKind::two_managers;
        finding.grade = Grade::wrong;
        finding.at = masters[0]->port;
        finding.peer = masters[i]->port;
        finding.observed = fmt::format(
            "two subnet managers are master, with the priorities {} and {}: each undoes what the "
            "other configures",
            masters[0]->priority, masters[i]->priority);
        finding.advice = "stop one, or give both the same SM_Key; then read both logs";
        into.push_back(std::move(finding));
    }
}

/// LIDs are ranges of 2^LMC. A switch has its LIDs at port 0 alone.
void judge_lids(const Subnet& subnet, std::vector<Finding>& into) {
    std::map<std::uint32_t, std::pair<std::uint32_t, PortId>> ranges;  // first LID -> one after the last, its port
    for (const Node& node : subnet.nodes)
        for (const Port& port : node.ports) {
            if (!port.lid || (node.type == NodeType::switch_node && port.number != 0)) continue;
            const std::uint32_t first = *port.lid;
            const std::uint32_t end = first + (1U << port.lmc);
            const auto next = ranges.lower_bound(end);
            const bool overlaps = next != ranges.begin() && std::prev(next)->second.first > first;
            if (!overlaps) {
                ranges.emplace(first, std::pair(end, PortId{node.guid, port.number}));
                continue;
            }
            Finding finding;
            finding.kind = FindingKind::lid_twice;
            finding.grade = Grade::wrong;
            finding.at = std::prev(next)->second.second;
            finding.peer = PortId{node.guid, port.number};
            finding.observed = fmt::format("both have the LID {}: packets reach one of them", first);
            finding.advice = "let the subnet manager assign LIDs again (opensm -r); look for a second one";
            into.push_back(std::move(finding));
        }
}

void judge_answers(const Subnet& subnet, std::vector<Finding>& into) {
    if (subnet.unanswered.empty()) return;
    const Unanswered& first = subnet.unanswered.front();
    Finding finding;
    finding.kind = FindingKind::unanswered;
    finding.grade = Grade::minor;
    finding.observed =
        fmt::format("{} got no answer, the first is ", base::format_counted(subnet.unanswered.size(), "question"));
    // They can be from a file.
    base::append_printable(finding.observed, fmt::format("{}: {}", first.question, first.reason));
    finding.advice = "ask again with a longer --timeout; a node that stays silent hangs, or is protected by an M_Key";
    into.push_back(std::move(finding));
}

}  // namespace

std::vector<Finding> find_problems(const Subnet& subnet) {
    std::vector<Finding> findings;
    judge_managers(subnet, findings);
    judge_lids(subnet, findings);
    for (const Link& link : links_of(subnet)) {
        judge_link(link, findings);
        judge_counters(link.from, link.to, findings);
        judge_counters(link.to, link.from, findings);
    }
    judge_answers(subnet, findings);
    sort_findings(findings);
    return findings;
}

}  // namespace fabric::findings
