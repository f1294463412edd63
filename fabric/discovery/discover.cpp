#include "fabric/discovery/discover.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "fabric/discovery/attributes.h"
#include "wire/mad_attribute_id.h"

namespace fabric::discovery {

namespace {

namespace attribute_id = wire::mad::subnet_attribute_id;

/// A subnet has fewer than 48 K unicast LIDs, and every node has one at least.
constexpr std::size_t most_nodes = 0xc000;

/// Walks from node to node. A question to a node that is known already is asked along the first route to it.
class Walk {
public:
    Walk(QueryPool& pool, const umad::LocalPort& local) : pool_(pool), local_(local) {}

    base::Result<Discovery> run() {
        found_.subnet.time_ns = base::wall_ns();
        found_.subnet.adapter = local_.adapter;
        visit({}, {});
        if (const auto done = pool_.run(); !done) return base::Failure{done.error()};
        if (found_.subnet.nodes.empty()) return base::failure(why_nothing(), local_.adapter);
        if (is_too_large_)
            return base::failure(
                fmt::format("the walk found more than {} nodes, more than a subnet can have", most_nodes));
        complete();
        return std::move(found_);
    }

private:
    using Handler = std::function<void(std::span<const std::byte>)>;

    std::string why_nothing() const {
        const std::string reason = found_.subnet.unanswered.empty() ? "" : found_.subnet.unanswered.front().reason;
        return fmt::format("the local adapter does not answer ({}): is its port up?", reason);
    }

    /// Asks, and keeps a note if there is no answer.
    void ask(std::uint16_t attribute, std::uint32_t modifier, const Route& route, Handler handler) {
        Query query;
        query.attribute = attribute;
        query.modifier = modifier;
        query.route = route;
        const std::string name = text_of(query);
        pool_.ask(std::move(query), [this, name, handler = std::move(handler)](const Answer& answer) {
            if (answer.outcome == Outcome::answered) return handler(answer.attribute);
            found_.subnet.unanswered.push_back({name, answer.reason});
        });
    }

    /// Asks who is at the end of a route; `before` is the port that the last hop leaves by.
    void visit(const Route& route, std::optional<PortId> before) {
        ask(attribute_id::node_info, 0, route, [this, route, before](std::span<const std::byte> attribute) {
            const auto info = read_node_info(attribute);
            if (!info) {
                found_.subnet.unanswered.push_back({fmt::format("NodeInfo at the route {}", text_of(route)),
                                                    "the answer has no valid node type, number of ports or port"});
                return;
            }
            arrive(*info, route, before);
        });
    }

    void arrive(const NodeInfo& info, const Route& route, std::optional<PortId> before) {
        Subnet& subnet = found_.subnet;
        const PortId here{info.node.guid, before ? info.local_port : static_cast<std::uint8_t>(local_.number)};
        if (!before) subnet.seen_from = here;
        if (subnet.find(info.node.guid) == nullptr) {
            if (subnet.nodes.size() == most_nodes) {
                is_too_large_ = true;
                return;
            }
            subnet.add(info.node);
            found_.routes.emplace(info.node.guid, route);
            read_node(info, route);
        }
        const bool is_switch = info.node.type == NodeType::switch_node;
        // The other ports of an adapter or router can belong to other subnets, with LIDs and managers of their own.
        if (!is_switch) read_port(here, route);
        port_guids_[{here.node, is_switch ? std::uint8_t{0} : here.number}] = info.port_guid;
        if (!before) return;
        links_[*before] = here;
        links_[here] = *before;
    }

    void read_node(const NodeInfo& info, const Route& route) {
        const Guid guid = info.node.guid;
        ask(attribute_id::node_description, 0, route, [this, guid](std::span<const std::byte> attribute) {
            found_.subnet.find(guid)->description = read_node_description(attribute);
        });
        if (info.node.type != NodeType::switch_node) return;
        for (unsigned number = 0; number <= info.node.port_count; ++number)
            read_port({guid, static_cast<std::uint8_t>(number)}, route);
    }

    void read_port(PortId id, const Route& route) {
        if (!asked_ports_.insert(id).second) return;
        ask(attribute_id::port_info, id.number, route, [this, id, route](std::span<const std::byte> attribute) {
            keep_port(id, read_port_info(attribute), route);
        });
    }

    void keep_port(PortId id, Port port, const Route& route) {
        port.number = id.number;
        Node& node = *found_.subnet.find(id.node);
        const auto place = std::ranges::lower_bound(node.ports, id.number, {}, &Port::number);
        const bool is_switch = node.type == NodeType::switch_node;
        const bool leads_on = port.is_up() && (is_switch ? id.number != 0 : is_local(id));
        const bool has_address = !is_switch || id.number == 0;
        if (!has_address) port.lid = {};
        node.ports.insert(place, port);
        if (port.has_manager && has_address) read_manager(id, route);
        // One question about each link is enough: the answer names the other end's port.
        if (!leads_on || links_.contains(id) || route.size() == longest_route) return;
        Route on = route;
        on.push_back(id.number);
        visit(on, id);
    }

    bool is_local(PortId id) const { return found_.subnet.seen_from && *found_.subnet.seen_from == id; }

    void read_manager(PortId id, const Route& route) {
        ask(attribute_id::sm_info, 0, route, [this, id](std::span<const std::byte> attribute) {
            SubnetManager manager = read_manager_info(attribute);
            manager.port = id;
            found_.subnet.managers.push_back(manager);
        });
    }

    /// Adds what is known only when everything was read.
    void complete() {
        Subnet& subnet = found_.subnet;
        for (const auto& [id, peer] : links_)
            if (Port* const port = subnet.find(id); port != nullptr && subnet.find(peer) != nullptr) port->peer = peer;
        for (const auto& [id, guid] : port_guids_)
            if (Port* const port = subnet.find(id); port != nullptr) port->guid = guid;
        for (SubnetManager& manager : subnet.managers)
            manager.lid = subnet.find(manager.port->node)->lid(manager.port->number);
        std::ranges::sort(subnet.managers, {}, [](const SubnetManager& manager) { return *manager.port; });
    }

    QueryPool& pool_;
    const umad::LocalPort& local_;
    Discovery found_ = {};
    std::map<PortId, PortId> links_ = {};
    std::map<PortId, Guid> port_guids_ = {};
    std::set<PortId> asked_ports_ = {};
    bool is_too_large_ = false;
};

}  // namespace

base::Result<Discovery> discover(QueryPool& pool, const umad::LocalPort& local) { return Walk(pool, local).run(); }

}  // namespace fabric::discovery
