#include "fabric/discovery/trace_route.h"

#include <fmt/format.h>
#include <optional>
#include <utility>

#include "fabric/discovery/attributes.h"

namespace fabric::discovery {

namespace {

constexpr unsigned lids_per_block = 64;
/// The entry of a LID that the switch has no port for. IBTA vol. 1, 14.2.5.10.
constexpr std::uint8_t no_port = 255;

/// The port that a switch forwards to, or why it does not say.
base::Result<std::uint8_t, std::string> next_port(QueryPool& pool, const Route& route, Lid lid) {
    Query query;
    query.attribute = linear_forwarding_id;
    query.modifier = lid / lids_per_block;
    query.route = route;
    base::Result<std::uint8_t, std::string> port = base::Failure<std::string>{"no answer"};
    pool.ask(std::move(query), [&port, lid](const Answer& answer) {
        if (answer.outcome == Outcome::answered)
            port = std::to_integer<std::uint8_t>(answer.attribute[lid % lids_per_block]);
        else
            port = base::Failure<std::string>{answer.reason};
    });
    if (const auto done = pool.run(); !done) return base::Failure<std::string>{done.error().text()};
    return port;
}

std::string description_of(const Node& node) { return fmt::format("switch {:#018x}", node.guid); }

}  // namespace

base::Result<TracedRoute> trace_route(QueryPool& pool, const Discovery& found, PortId from, PortId to) {
    const Subnet& subnet = found.subnet;
    TracedRoute traced{from, to, 0, {}, {}};
    const auto lid = subnet.find(to.node)->lid(to.number);
    if (!lid) {
        traced.broken = "the destination has no LID: no subnet manager has configured it";
        return traced;
    }
    traced.lid = *lid;
    PortId out = from;
    const Node* node = subnet.find(from.node);
    // No way is longer than the number of nodes, unless it goes in circles.
    for (std::size_t hop = 0; node->guid != to.node; ++hop) {
        if (hop == subnet.nodes.size()) {
            traced.broken = "the forwarding tables lead in a circle";
            return traced;
        }
        if (node->type == NodeType::switch_node) {
            const auto port = next_port(pool, found.routes.at(node->guid), *lid);
            if (!port) {
                traced.broken =
                    fmt::format("{} does not show its forwarding table: {}", description_of(*node), port.error());
                return traced;
            }
            if (*port == no_port) {
                traced.broken = fmt::format("{} has no port for LID {}", description_of(*node), *lid);
                return traced;
            }
            out = {node->guid, *port};
        } else if (hop != 0) {
            traced.broken = fmt::format("the way leads to another node than LID {} has: {:#018x}", *lid, node->guid);
            return traced;
        }
        traced.leaves_by.push_back(out);
        const Port* const leaving = subnet.find(out);
        if (leaving == nullptr || !leaving->peer) {
            traced.broken = fmt::format("port {} of {:#018x} has no link", out.number, out.node);
            return traced;
        }
        node = subnet.find(leaving->peer->node);
    }
    return traced;
}

}  // namespace fabric::discovery
