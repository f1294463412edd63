#include "cli/fabric/subnet_page.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "base/quantities.h"
#include "base/saturating.h"
#include "exporters/text_table.h"
#include "fabric/output/subnet_words.h"

namespace cli::fabric {

namespace {

using ::fabric::Counter;
using ::fabric::Link;
using ::fabric::LinkEnd;
using ::fabric::LinkRate;
using ::fabric::Node;
using ::fabric::NodeLabels;
using ::fabric::NodeType;
using ::fabric::Port;
using ::fabric::Subnet;
using Heading = exporters::Table::Heading;

constexpr std::string_view absent = "-";

std::string lid_text(std::optional<::fabric::Lid> lid) { return lid ? std::to_string(*lid) : std::string(absent); }

std::string rate_text(LinkRate rate) {
    if (!rate.known()) return std::string(absent);
    return fmt::format("{} {}", ::fabric::width_name(rate.width), ::fabric::speed_name(rate.speed));
}

std::size_t count_of(const Subnet& subnet, NodeType type) {
    return static_cast<std::size_t>(std::ranges::count(subnet.nodes, type, &Node::type));
}

std::string first_line(const Subnet& subnet, const NodeLabels& labels, std::size_t links) {
    std::string counts = base::format_counted(count_of(subnet, NodeType::switch_node), "switch", "switches");
    counts += fmt::format(", {}", base::format_counted(count_of(subnet, NodeType::adapter), "adapter"));
    if (const std::size_t routers = count_of(subnet, NodeType::router); routers != 0)
        counts += fmt::format(", {}", base::format_counted(routers, "router"));
    return fmt::format("{} ({}), {}; seen from {}\n", base::format_counted(subnet.nodes.size(), "node"), counts,
                       base::format_counted(links, "link"),
                       subnet.seen_from ? end_text(subnet, *subnet.seen_from, labels) : std::string("nowhere"));
}

std::string managers_text(const Subnet& subnet, const NodeLabels& labels) {
    if (subnet.managers.empty()) return "no subnet manager\n";
    std::string out;
    for (const auto& manager : subnet.managers)
        out +=
            fmt::format("subnet manager: {}, {}, priority {}\n",
                        manager.port ? end_text(subnet, *manager.port, labels) : ::fabric::text_of(manager.port_guid),
                        ::fabric::output::name_of(manager.state), manager.priority);
    return out;
}

void append_nodes(std::string& out, const Subnet& subnet, const NodeLabels& labels) {
    exporters::Table table({Heading{"NODE"}, Heading{"TYPE"}, Heading{"LID", false}, Heading{"LINKED", false},
                            Heading{"PORTS", false}, Heading{"GUID"}});
    for (const Node& node : subnet.nodes) {
        const auto linked = std::ranges::count_if(node.ports, [](const Port& port) { return port.peer.has_value(); });
        table.add({labels.of(node), std::string(::fabric::output::name_of(node.type)), lid_text(node.lid()),
                   std::to_string(linked), std::to_string(node.port_count), ::fabric::text_of(node.guid)});
    }
    table.flush(out);
}

constexpr std::array data_counters{Counter::transmit_bytes, Counter::receive_bytes, Counter::transmit_packets,
                                   Counter::receive_packets, Counter::transmit_wait};

/// The errors that a port counted; between two readings if there are two.
std::optional<std::uint64_t> errors_at(const Port& port) {
    if (!port.counters) return {};
    std::uint64_t sum = 0;
    for (const auto& row : ::fabric::counter_rows()) {
        if (std::ranges::find(data_counters, row.counter) != data_counters.end()) continue;
        const auto counted = port.later_counters ? growth(*port.counters, *port.later_counters, row.counter)
                                                 : port.counters->value(row.counter);
        sum = base::saturating::add(sum, counted.value_or(0));
    }
    return sum;
}

std::string errors_text(const Link& link) {
    const auto from = errors_at(*link.from.port);
    const auto to = errors_at(*link.to.port);
    if (!from && !to) return std::string(absent);
    return base::group_digits(base::saturating::add(from.value_or(0), to.value_or(0)));
}

/// What a port sends per second.
std::string sent_text(const Port& port) {
    if (!port.counters || !port.later_counters) return std::string(absent);
    constexpr double bits_per_byte = 8;
    const auto bytes = growth_per_sec(*port.counters, *port.later_counters, Counter::transmit_bytes);
    if (!bytes) return std::string(absent);
    return base::format_bit_rate(*bytes * bits_per_byte, {base::Spacing::column});
}

std::string waited_text(const Port& port) {
    if (!port.counters || !port.later_counters) return std::string(absent);
    return base::format_count(growth_per_sec(*port.counters, *port.later_counters, Counter::transmit_wait));
}

bool has_rates(const Subnet& subnet) {
    return std::ranges::any_of(subnet.nodes, [](const Node& node) {
        return std::ranges::any_of(node.ports, [](const Port& port) { return port.later_counters.has_value(); });
    });
}

std::string best_text(const Link& link) {
    const LinkRate rate = link.rate();
    const LinkRate best = link.best();
    if (!rate.known() || !best.known()) return std::string(absent);
    return rate == best ? std::string("=") : rate_text(best);
}

void append_links(std::string& out, const std::vector<Link>& links, const NodeLabels& labels, bool rates) {
    std::vector<Heading> headings{Heading{"FROM"}, Heading{"PORT", false}, Heading{"TO"},    Heading{"PORT", false},
                                  Heading{"RATE"}, Heading{"BEST"},        Heading{"STATE"}, Heading{"ERRORS", false}};
    if (rates)
        for (const char* const title : {"SENT", "WAITS/s", "RECEIVED", "WAITS/s"}) headings.push_back({title, false});
    exporters::Table table(std::move(headings));
    for (const Link& link : links) {
        const Port& from = *link.from.port;
        const Port& to = *link.to.port;
        std::vector<std::string> cells{labels.of(*link.from.node),
                                       std::to_string(from.number),
                                       labels.of(*link.to.node),
                                       std::to_string(to.number),
                                       rate_text(link.rate()),
                                       best_text(link),
                                       std::string(::fabric::output::name_of(std::min(from.state, to.state))),
                                       errors_text(link)};
        if (rates) cells.insert(cells.end(), {sent_text(from), waited_text(from), sent_text(to), waited_text(to)});
        table.add(std::move(cells));
    }
    table.flush(out);
}

}  // namespace

std::string end_text(const Subnet& subnet, ::fabric::PortId id, const NodeLabels& labels) {
    const Node* const node = subnet.find(id.node);
    if (node == nullptr) return fmt::format("{} port {}", ::fabric::text_of(id.node), id.number);
    std::string text = labels.of(*node, id.number);
    const auto lid = node->lid(id.number) ? node->lid(id.number) : node->lid();
    return lid ? fmt::format("{} (lid {})", text, *lid) : text;
}

std::string subnet_page(const Subnet& subnet, const NodeLabels& labels) {
    const std::vector<Link> links = links_of(subnet);
    std::string out = first_line(subnet, labels, links.size());
    out += managers_text(subnet, labels);
    out += '\n';
    append_nodes(out, subnet, labels);
    if (links.empty()) return out;
    out += '\n';
    append_links(out, links, labels, has_rates(subnet));
    return out;
}

std::string counters_page(const Subnet& subnet, const NodeLabels& labels) {
    exporters::Table table({Heading{"NODE"}, Heading{"PORT", false}, Heading{"COUNTER"}, Heading{"VALUE", false},
                            Heading{"PER SECOND", false}});
    for (const Node& node : subnet.nodes)
        for (const Port& port : node.ports) {
            if (!port.latest()) continue;
            for (const auto& row : ::fabric::counter_rows()) {
                const std::uint64_t value = port.latest()->value(row.counter).value_or(0);
                if (value == 0) continue;
                const auto per_sec = port.counters && port.later_counters
                                         ? growth_per_sec(*port.counters, *port.later_counters, row.counter)
                                         : std::nullopt;
                table.add({labels.of(node), std::to_string(port.number), std::string(row.name), std::to_string(value),
                           base::format_count(per_sec)});
            }
        }
    std::string out;
    if (table.empty()) return has_counters(subnet) ? "every counter is 0\n" : "no counters were read\n";
    table.flush(out);
    return out;
}

std::string route_page(const Subnet& subnet, const ::fabric::TracedRoute& route, const NodeLabels& labels) {
    std::string out = fmt::format(
        "from {} to {}, by LID {}: {}\n\n", end_text(subnet, route.from, labels), end_text(subnet, route.to, labels),
        route.lid, route.broken.empty() ? base::format_counted(route.leaves_by.size(), "hop") : route.broken);
    exporters::Table table({Heading{"LEAVES"}, Heading{"PORT", false}, Heading{"REACHES"}, Heading{"PORT", false},
                            Heading{"RATE"}, Heading{"BEST"}, Heading{"ERRORS", false}});
    for (const ::fabric::PortId& id : route.leaves_by) {
        const Node& node = *subnet.find(id.node);
        const Port* const port = node.port(id.number);
        if (port == nullptr || !port->peer) {
            table.add({labels.of(node), std::to_string(id.number), "nothing", std::string(absent), std::string(absent),
                       std::string(absent), std::string(absent)});
            continue;
        }
        const Node& other = *subnet.find(port->peer->node);
        const Link link{{&node, port}, {&other, other.port(port->peer->number)}};
        table.add({labels.of(node), std::to_string(id.number), labels.of(other), std::to_string(port->peer->number),
                   rate_text(link.rate()), best_text(link), errors_text(link)});
    }
    if (!table.empty()) table.flush(out);
    return out;
}

}  // namespace cli::fabric
