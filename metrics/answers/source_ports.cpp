#include "metrics/answers/source_ports.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <utility>

#include "metrics/answers/figure_text.h"
#include "metrics/answers/flow_measures.h"

namespace metrics::inline answers {

namespace {

/// With fewer flows it is chance, or one application's connection.
constexpr std::size_t few_flows_by_chance = 4;

/// Of one direction between two hosts.
struct PortUse {
    std::size_t flows = 0;
    std::uint64_t bytes = 0;
    std::map<std::uint16_t, std::size_t> by_port;
};

}  // namespace

std::string describe_shared_ports(const Snapshot& snapshot) {
    std::map<std::pair<Address, Address>, PortUse> uses;
    for (const FlowSnapshot& flow : snapshot.flows) {
        if (!flow.udp_port || flow.udp_ports != 1 || !carries_data(flow)) continue;
        PortUse& use = uses[{flow.source.address, flow.destination.address}];
        ++use.flows;
        use.bytes += flow.wire_bytes;
        ++use.by_port[*flow.udp_port];
    }
    const auto shares = [](const auto& entry) {
        return entry.second.flows >= few_flows_by_chance && entry.second.by_port.size() == 1;
    };
    const auto busiest = std::max_element(uses.begin(), uses.end(), [&](const auto& one, const auto& other) {
        return std::pair(shares(one), one.second.bytes) < std::pair(shares(other), other.second.bytes);
    });
    if (busiest == uses.end() || !shares(*busiest)) return {};
    return fmt::format(
        "All {} from {} to {} have UDP source port {}: ECMP and link aggregation, which hash by it, carry them over "
        "one "
        "link",
        counted(busiest->second.flows, "flow"), to_text(busiest->first.first), to_text(busiest->first.second),
        busiest->second.by_port.begin()->first);
}

}  // namespace metrics::answers
