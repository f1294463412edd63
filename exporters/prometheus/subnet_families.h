#pragma once
#include <cstdint>
#include <map>
#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <vector>

#include "exporters/prometheus/traffic_totals.h"

namespace exporters::prometheus {

/// In the order of their series.
enum class SubnetFamily : std::uint8_t {
    up,
    readings,
    failures,
    reading_time,
    reading_seconds,
    nodes,
    links,
    degraded_ratio,
    managers,
    findings,
    unanswered,
    port_bytes,
    port_packets,
    port_wait,
    port_errors,
    ports_truncated,
};

/// Samples of an InfiniBand subnet: `rdma_fabric_*` and `rdmascope_fabric_*`.
class SubnetFamilies {
public:
    void add(SubnetFamily which, double value, std::vector<::prometheus::ClientMetric::Label> labels = {});
    /// In the order of the table; families without a sample are left out.
    std::vector<::prometheus::MetricFamily> take();

private:
    std::map<SubnetFamily, ::prometheus::MetricFamily> families_ = {};
};

/// Rows of all_series().
const std::vector<Series>& subnet_series();

}  // namespace exporters::prometheus
