#include "daemon/subnet_figures.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "exporters/prometheus/labels.h"
#include "exporters/prometheus/subnet_families.h"
#include "fabric/output/subnet_words.h"

namespace service {

namespace {

namespace prom = exporters::prometheus;
using fabric::Counter;
using fabric::LinkEnd;
using fabric::PortId;
using prom::SubnetFamilies;
using prom::SubnetFamily;
using Labels = std::vector<::prometheus::ClientMetric::Label>;

constexpr double second_ns = 1e9;

Labels labels_of(const LinkEnd& end, const LinkEnd& peer, const fabric::NodeLabels& names) {
    return {{"node", prom::label_value(names.of(*end.node))},
            {"guid", fabric::text_of(end.node->guid)},
            {"port", std::to_string(end.port->number)},
            {"peer", prom::label_value(names.of(*peer.node))},
            {"peer_port", std::to_string(peer.port->number)}};
}

Labels with(Labels labels, std::string name, std::string_view value) {
    labels.push_back({std::move(name), std::string(value)});
    return labels;
}

bool is_degraded(const fabric::Link& link) {
    return link.is_active() && link.rate().known() && link.best().known() &&
           link.rate().bits_per_sec() < link.best().bits_per_sec();
}

void add_links(SubnetFamilies& out, const SubnetReading& reading, const std::vector<fabric::Link>& all) {
    std::array<std::size_t, 3> counts{};
    for (const fabric::Link& link : all) {
        ++counts[!link.is_active() ? 2 : is_degraded(link) ? 1 : 0];
        if (!is_degraded(link) || counts[1] > most_degraded_links) continue;
        out.add(SubnetFamily::degraded_ratio, link.rate().bits_per_sec() / link.best().bits_per_sec(),
                labels_of(link.from, link.to, reading.labels));
    }
    constexpr std::array states{"active", "degraded", "inactive"};
    for (std::size_t i = 0; i < counts.size(); ++i)
        out.add(SubnetFamily::links, static_cast<double>(counts[i]), {{"state", states[i]}});
}

void add_managers(SubnetFamilies& out, const SubnetReading& reading) {
    std::vector<fabric::SubnetManager> all = reading.subnet.managers;
    // The master comes first, so that it is never left out.
    std::ranges::stable_sort(all, std::ranges::greater{}, &fabric::SubnetManager::state);
    std::set<fabric::Guid> seen;
    for (std::size_t i = 0; i < all.size() && seen.size() < most_managers; ++i) {
        if (!seen.insert(all[i].port_guid).second) continue;
        const fabric::Node* const node = all[i].port ? reading.subnet.find(all[i].port->node) : nullptr;
        const std::string guid = fabric::text_of(all[i].port_guid);
        out.add(SubnetFamily::managers, all[i].priority,
                {{"node", node == nullptr ? guid : prom::label_value(reading.labels.of(*node))},
                 {"guid", guid},
                 {"state", std::string(fabric::output::name_of(all[i].state))}});
    }
}

void add_sums(SubnetFamilies& out, const SubnetReading& reading) {
    std::map<std::string_view, std::size_t> types;
    for (const fabric::Node& node : reading.subnet.nodes) ++types[fabric::output::name_of(node.type)];
    for (const auto& [type, count] : types)
        out.add(SubnetFamily::nodes, static_cast<double>(count), {{"type", std::string(type)}});
    std::map<std::pair<std::string_view, std::string_view>, std::size_t> kinds;
    for (const fabric::findings::Finding& one : reading.findings) ++kinds[{name_of(one.kind), name_of(one.grade)}];
    for (const auto& [kind, count] : kinds)
        out.add(SubnetFamily::findings, static_cast<double>(count),
                {{"kind", std::string(kind.first)}, {"grade", std::string(kind.second)}});
    out.add(SubnetFamily::unanswered, static_cast<double>(reading.subnet.unanswered.size()));
}

void add_port(SubnetFamilies& out, const LinkEnd& end, const LinkEnd& peer, const fabric::NodeLabels& names) {
    const Labels labels = labels_of(end, peer, names);
    for (const fabric::CounterRow& row : fabric::counter_rows()) {
        const auto count = end.port->latest()->value(row.counter);
        if (!count) continue;
        const auto value = static_cast<double>(*count);
        switch (row.counter) {
            case Counter::transmit_bytes:
                out.add(SubnetFamily::port_bytes, value, with(labels, "direction", "transmit"));
                break;
            case Counter::receive_bytes:
                out.add(SubnetFamily::port_bytes, value, with(labels, "direction", "receive"));
                break;
            case Counter::transmit_packets:
                out.add(SubnetFamily::port_packets, value, with(labels, "direction", "transmit"));
                break;
            case Counter::receive_packets:
                out.add(SubnetFamily::port_packets, value, with(labels, "direction", "receive"));
                break;
            case Counter::transmit_wait: out.add(SubnetFamily::port_wait, value, labels); break;
            default: out.add(SubnetFamily::port_errors, value, with(labels, "error", row.name)); break;
        }
    }
}

struct Candidate {
    LinkEnd end;
    LinkEnd peer;
    bool has_finding = false;
    std::uint64_t sent = 0;
};

void add_ports(SubnetFamilies& out, const SubnetReading& reading, const std::vector<fabric::Link>& all,
               std::size_t max_ports) {
    std::set<PortId> found;
    for (const fabric::findings::Finding& one : reading.findings) {
        if (one.at) found.insert(*one.at);
        if (one.peer) found.insert(*one.peer);
    }
    std::vector<Candidate> ports;
    const auto consider = [&](const LinkEnd& end, const LinkEnd& peer) {
        if (!end.port->latest()) return;
        ports.push_back(
            {end, peer, found.contains(end.id()), end.port->latest()->value(Counter::transmit_bytes).value_or(0)});
    };
    for (const fabric::Link& link : all) {
        consider(link.from, link.to);
        // A port that is cabled to itself is both ends.
        if (link.to.id() != link.from.id()) consider(link.to, link.from);
    }
    std::ranges::stable_sort(ports, std::ranges::greater{},
                             [](const Candidate& one) { return std::pair(one.has_finding, one.sent); });
    for (std::size_t i = 0; i < std::min(ports.size(), max_ports); ++i)
        add_port(out, ports[i].end, ports[i].peer, reading.labels);
    out.add(SubnetFamily::ports_truncated, static_cast<double>(ports.size() - std::min(ports.size(), max_ports)));
}

}  // namespace

std::vector<::prometheus::MetricFamily> families(const SubnetPolling& polling) {
    SubnetFamilies out;
    out.add(SubnetFamily::up, polling.is_up ? 1 : 0);
    out.add(SubnetFamily::readings, static_cast<double>(polling.readings));
    out.add(SubnetFamily::failures, static_cast<double>(polling.failures));
    if (polling.latest == nullptr) return out.take();
    const SubnetReading& reading = *polling.latest;
    out.add(SubnetFamily::reading_time, static_cast<double>(reading.subnet.time_ns) / second_ns);
    out.add(SubnetFamily::reading_seconds, static_cast<double>(reading.took_ns) / second_ns);
    const std::vector<fabric::Link> all = links_of(reading.subnet);
    add_sums(out, reading);
    add_links(out, reading, all);
    add_managers(out, reading);
    add_ports(out, reading, all, polling.max_ports);
    return out.take();
}

}  // namespace service
