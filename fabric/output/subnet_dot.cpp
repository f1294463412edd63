#include "fabric/output/subnet_dot.h"

#include <fmt/format.h>
#include <string_view>

namespace fabric::output {

namespace {

/// Between quotes, where backslashes begin escapes.
std::string dot_text(std::string_view text) {
    std::string out = "\"";
    for (const char letter : text) {
        if (letter == '"' || letter == '\\') out += '\\';
        out += letter;
    }
    return out + '"';
}

std::string node_line(const Node& node, const NodeLabels& labels) {
    std::string label = labels.of(node);
    if (const auto lid = node.lid()) label += fmt::format(" (lid {})", *lid);
    return fmt::format("  {} [label={}{}];\n", dot_text(text_of(node.guid)), dot_text(label),
                       node.type == NodeType::switch_node ? ", shape=box, style=filled, fillcolor=lightgrey" : "");
}

std::string edge_line(const Link& link) {
    const LinkRate rate = link.rate();
    const LinkRate best = link.best();
    const bool is_degraded = rate.known() && best.known() && rate.bits_per_sec() < best.bits_per_sec();
    std::string label = fmt::format("{} {}", width_name(rate.width), speed_name(rate.speed));
    if (is_degraded) label += fmt::format(", could be {} {}", width_name(best.width), speed_name(best.speed));
    if (!link.is_active()) label += ", not active";
    return fmt::format("  {} -- {} [taillabel=\"{}\", headlabel=\"{}\", label={}{}];\n",
                       dot_text(text_of(link.from.node->guid)), dot_text(text_of(link.to.node->guid)),
                       link.from.port->number, link.to.port->number, dot_text(label),
                       is_degraded || !link.is_active() ? ", color=red, fontcolor=red" : "");
}

}  // namespace

std::string subnet_dot(const Subnet& subnet, const NodeLabels& labels) {
    std::string out = "graph subnet {\n  overlap=false;\n  splines=true;\n";
    for (const Node& node : subnet.nodes) out += node_line(node, labels);
    for (const Link& link : links_of(subnet)) out += edge_line(link);
    return out + "}\n";
}

}  // namespace fabric::output
