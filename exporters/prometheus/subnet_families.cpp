#include "exporters/prometheus/subnet_families.h"

#include <cstddef>
#include <utility>

namespace exporters::prometheus {

using ::prometheus::ClientMetric;
using ::prometheus::MetricFamily;
using ::prometheus::MetricType;

const std::vector<Series>& subnet_series() {
    static const std::vector<std::string_view> ends{"node", "guid", "port", "peer", "peer_port"};
    const auto and_one = [](std::string_view label) {
        std::vector<std::string_view> labels = ends;
        labels.push_back(label);
        return labels;
    };
    static const std::vector<Series> rows{
        {"rdmascope_fabric_up", "", "1 if the last reading of the subnet succeeded.", MetricType::Gauge, {}},
        {"rdmascope_fabric_readings_total", "", "Readings of the subnet.", MetricType::Counter, {}},
        {"rdmascope_fabric_failures_total",
         "",
         "Readings that failed; the log has the reasons.",
         MetricType::Counter,
         {}},
        {"rdmascope_fabric_reading_timestamp_seconds",
         "seconds",
         "When the last reading that succeeded began. All figures of the subnet are of this time.",
         MetricType::Gauge,
         {}},
        {"rdmascope_fabric_reading_seconds",
         "seconds",
         "How long the last reading that succeeded took.",
         MetricType::Gauge,
         {}},
        {"rdma_fabric_nodes", "", "Nodes of the subnet: adapter, switch or router.", MetricType::Gauge, {"type"}},
        {"rdma_fabric_links",
         "",
         "Links of the subnet: active at the best rate of both ends, degraded (active at a lower rate), or inactive.",
         MetricType::Gauge,
         {"state"}},
        {"rdma_fabric_degraded_link_ratio", "",
         "Rate of a degraded link by the best one of both ends; at most 64 links have series.", MetricType::Gauge,
         ends},
        {"rdma_fabric_manager_priority",
         "",
         "Priority of a subnet manager, with its state: master, standby, discovering or not_active; at most 16 have "
         "series.",
         MetricType::Gauge,
         {"node", "guid", "state"}},
        {"rdma_fabric_findings",
         "",
         "What is wrong in the subnet, as rdmascope fabric why finds it, by what grew since the reading before.",
         MetricType::Gauge,
         {"kind", "grade"}},
        {"rdma_fabric_unanswered", "", "Questions that no node answered in the last reading.", MetricType::Gauge, {}},
        {"rdma_fabric_port_bytes_total", "bytes", "That a port sent or received, by its own counters.",
         MetricType::Counter, and_one("direction")},
        {"rdma_fabric_port_packets_total", "packets", "That a port sent or received, by its own counters.",
         MetricType::Counter, and_one("direction")},
        {"rdma_fabric_port_transmit_wait_total", "",
         "XmitWait: ticks in which a port had data to send and no credit of its peer; the peer is congested.",
         MetricType::Counter, ends},
        {"rdma_fabric_port_errors_total", "",
         "Errors that a port counts, by their names in rdmascope fabric --json: symbol_errors, link_downed, "
         "transmit_discards, ...",
         MetricType::Counter, and_one("error")},
        {"rdmascope_fabric_ports_truncated",
         "",
         "Ports without series of their own: see fabric.max_ports.",
         MetricType::Gauge,
         {}},
    };
    return rows;
}

void SubnetFamilies::add(SubnetFamily which, double value, std::vector<ClientMetric::Label> labels) {
    ClientMetric& metric = families_[which].metric.emplace_back();
    metric.label = std::move(labels);
    if (subnet_series()[static_cast<std::size_t>(which)].type == MetricType::Counter)
        metric.counter.value = value;
    else
        metric.gauge.value = value;
}

std::vector<MetricFamily> SubnetFamilies::take() {
    std::vector<MetricFamily> all;
    for (auto& [which, family] : families_) {
        const Series& series = subnet_series()[static_cast<std::size_t>(which)];
        family.name = series.name;
        family.help = series.help;
        family.type = series.type;
        all.push_back(std::move(family));
    }
    return all;
}

}  // namespace exporters::prometheus
