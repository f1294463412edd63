#include "fabric/discovery/trace_route.h"

#include <fmt/format.h>
#include <optional>
#include <utility>

#include "fabric/discovery/attributes.h"
#include "wire/mad_attribute_id.h"

namespace fabric::discovery {

namespace {

namespace attribute_id = wire::mad::subnet_attribute_id;

constexpr unsigned lids_per_block = 64;
/// The entry of a LID that the switch has no port for. IBTA vol. 1, 14.2.5.10.
constexpr std::uint8_t no_port = 255;

/// The port that a switch forwards to, or why it does not say.
base::Result<std::uint8_t, std::string> next_port(QueryPool& pool, const Route& route, Lid lid) {
    Query query;
    query.attribute = attribute_id::linear_forwarding_table;
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

/// A switch has its LIDs at every port, another node at one.
bool is_at(const Subnet& subnet, PortId here, PortId to) {
    return here.node == to.node && (subnet.find(to.node)->type == NodeType::switch_node || here.number == to.number);
}

std::string description_of(const Node& node) { return fmt::format("switch {:#018x}", node.guid); }

}  // namespace

TracedRoute trace_route(QueryPool& pool, const Discovery& found, PortId from, PortId to, std::optional<Lid> lid) {
    const Subnet& subnet = found.subnet;
    TracedRoute traced{from, to, 0, {}, {}};
    if (!lid) lid = subnet.find(to.node)->lid(to.number);
    if (!lid) {
        traced.broken = "the destination has no LID: no subnet manager has configured it";
        return traced;
    }
    traced.lid = *lid;
    PortId at = from;
    // No way is longer than the number of nodes, unless it goes in circles.
    for (std::size_t hop = 0; !is_at(subnet, at, to); ++hop) {
        if (hop > subnet.nodes.size()) {
            traced.broken = "the forwarding tables lead in a circle";
            return traced;
        }
        const Node& node = *subnet.find(at.node);
        PortId out = at;
        if (node.type == NodeType::switch_node) {
            const auto port = next_port(pool, found.routes.at(node.guid), *lid);
            if (!port) {
                traced.broken =
                    fmt::format("{} does not show its forwarding table: {}", description_of(node), port.error());
                return traced;
            }
            if (*port == no_port) {
                traced.broken = fmt::format("{} has no port for LID {}", description_of(node), *lid);
                return traced;
            }
            out.number = *port;
        } else if (hop != 0) {
            traced.broken = fmt::format("the way leads to port {} of {:#018x}, which does not have LID {}", at.number,
                                        at.node, *lid);
            return traced;
        }
        traced.leaves_by.push_back(out);
        const Port* const leaving = subnet.find(out);
        if (leaving == nullptr || !leaving->peer) {
            traced.broken = fmt::format("port {} of {:#018x} has no link", out.number, out.node);
            return traced;
        }
        at = *leaving->peer;
    }
    return traced;
}

}  // namespace fabric::discovery
