#include "fabric/subnet.h"

#include <algorithm>
#include <utility>

namespace fabric {

const Port* Node::port(std::uint8_t number) const {
    const auto found = std::ranges::lower_bound(ports, number, {}, &Port::number);
    return found != ports.end() && found->number == number ? &*found : nullptr;
}

Port* Node::port(std::uint8_t number) { return const_cast<Port*>(std::as_const(*this).port(number)); }

std::optional<Lid> Node::lid(std::uint8_t number) const {
    const Port* const owner = port(type == NodeType::switch_node ? 0 : number);
    return owner != nullptr ? owner->lid : std::nullopt;
}

std::optional<Lid> Node::lid() const {
    std::optional<Lid> least;
    for (const Port& port : ports)
        if (port.lid && (!least || *port.lid < *least)) least = port.lid;
    return least;
}

std::size_t Subnet::add(Node node) {
    const auto [place, is_new] = index_.try_emplace(node.guid, nodes.size());
    if (is_new) nodes.push_back(std::move(node));
    return place->second;
}

std::optional<std::size_t> Subnet::index_of(Guid guid) const {
    const auto found = index_.find(guid);
    return found == index_.end() ? std::nullopt : std::optional<std::size_t>(found->second);
}

const Node* Subnet::find(Guid guid) const {
    const auto index = index_of(guid);
    return index ? &nodes[*index] : nullptr;
}

Node* Subnet::find(Guid guid) { return const_cast<Node*>(std::as_const(*this).find(guid)); }

const Port* Subnet::find(PortId id) const {
    const Node* const node = find(id.node);
    return node != nullptr ? node->port(id.number) : nullptr;
}

Port* Subnet::find(PortId id) { return const_cast<Port*>(std::as_const(*this).find(id)); }

LinkRate Link::best() const {
    return {greatest_width(from.port->widths_supported & to.port->widths_supported),
            greatest_speed(from.port->speeds_supported & to.port->speeds_supported)};
}

bool has_counters(const Subnet& subnet) {
    return std::ranges::any_of(subnet.nodes, [](const Node& node) {
        return std::ranges::any_of(node.ports, [](const Port& port) { return port.latest().has_value(); });
    });
}

std::vector<Link> links_of(const Subnet& subnet) {
    std::vector<Link> links;
    for (const Node& node : subnet.nodes)
        for (const Port& port : node.ports) {
            const PortId here{node.guid, port.number};
            if (!port.peer || *port.peer < here) continue;
            const Node* const other = subnet.find(port.peer->node);
            const Port* const other_port = other != nullptr ? other->port(port.peer->number) : nullptr;
            if (other_port != nullptr) links.push_back({{&node, &port}, {other, other_port}});
        }
    std::ranges::sort(links, {}, [](const Link& link) { return link.from.id(); });
    return links;
}

}  // namespace fabric
