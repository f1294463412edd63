#include "metrics/answers/subject.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <optional>
#include <tuple>

#include "metrics/answers/figure_text.h"
#include "metrics/answers/flow_measures.h"

namespace metrics::inline answers {

Subject::Subject(const Snapshot& snapshot, const metrics::HostNames& names, const std::uint64_t* flow)
    : snapshot_(snapshot), names_(names), one_flow_(flow != nullptr), receivers_(receiver_classes(snapshot)) {
    for (const FlowSnapshot& each : snapshot.flows) by_id_.emplace(each.id, &each);
    std::optional<std::uint64_t> other;
    if (flow != nullptr)
        if (const auto at = by_id_.find(*flow); at != by_id_.end()) other = at->second->reverse;
    std::map<std::tuple<Address, Address, wire::Transport>, std::size_t> known;
    for (const FlowSnapshot& each : snapshot.flows) {
        if (flow != nullptr && each.id != *flow && (!other || each.id != *other)) continue;
        flows_.push_back(&each);
        const auto [at, fresh] =
            known.try_emplace({each.source.address, each.destination.address, each.transport}, groups_.size());
        if (fresh) groups_.push_back({each.source.address, each.destination.address, {}});
        groups_[at->second].flows.push_back(&each);
    }
}

const FlowSnapshot* Subject::reverse(const FlowSnapshot& flow) const {
    if (!flow.reverse) return nullptr;
    const auto at = by_id_.find(*flow.reverse);
    return at == by_id_.end() ? nullptr : at->second;
}

ReceiverClass Subject::receiver(const Address& host) const {
    const auto at = receivers_.find(host);
    return at == receivers_.end() ? ReceiverClass::unknown : at->second;
}

bool Subject::concerns(const Address& host) const {
    return !one_flow_ || std::any_of(flows_.begin(), flows_.end(), [&host](const FlowSnapshot* flow) {
        return flow->source.address == host || flow->destination.address == host;
    });
}

std::string Subject::short_name(const Address& address) const { return names_.text(address); }

std::string Subject::host(const Address& address) const {
    const std::string name = names_.name(address);
    return name.empty() ? to_text(address) : fmt::format("{} ({})", name, to_text(address));
}

std::string Subject::end(const Endpoint& endpoint) const {
    std::string selector;
    if (endpoint.qpn)
        selector = fmt::format("qp {:#08x}", *endpoint.qpn);
    else if (endpoint.port)
        selector = fmt::format("port {}", *endpoint.port);
    if (selector.empty()) return host(endpoint.address);
    const std::string name = names_.name(endpoint.address);
    if (name.empty()) return fmt::format("{} ({})", to_text(endpoint.address), selector);
    return fmt::format("{} ({}, {})", name, to_text(endpoint.address), selector);
}

std::string Subject::from_to(const Flows& flows) const {
    if (flows.empty()) return {};
    const FlowSnapshot& first = *flows.front();
    if (flows.size() == 1) return fmt::format("from {} to {}", end(first.source), end(first.destination));
    return fmt::format("from {} to {} ({})", host(first.source.address), host(first.destination.address),
                       counted(flows.size(), "flow"));
}

std::string Subject::requests(const Flows& flows) const {
    if (flows.empty() || !shows_its_own(*flows.front())) return from_to(flows);
    const FlowSnapshot& first = *flows.front();
    return fmt::format("from {} to {}", host(first.destination.address), host(first.source.address));
}

bool is_partly_read(const Subject& subject) {
    return std::any_of(subject.flows().begin(), subject.flows().end(),
                       [](const FlowSnapshot* flow) { return partly_read(*flow); });
}

std::string unread_advice(const Subject& subject) {
    if (subject.snapshot().capture.truncated == 0)
        return "Capture these connections from their set-up on; `rdmascope dump -v` tells what is found in them.";
    return "Capture whole segments (`-s 0`), or keep kernel and adapter from joining them: `ethtool -K IFACE gro off "
           "lro off tso off gso off`.";
}

}  // namespace metrics::answers
