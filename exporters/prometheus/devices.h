#pragma once
#include <cstddef>
#include <prometheus/metric_family.h>
#include <vector>

#include "exporters/prometheus/traffic_totals.h"
#include "metrics/figures/device_figures.h"

namespace exporters::prometheus {

/// The counters of this machine's devices (`rdma_device_*`), in the order of the table; families without a sample are
/// left out. Counters of single queue pairs are left out: the counters of their port include them, and a queue pair is
/// never a label.
std::vector<::prometheus::MetricFamily> families(const metrics::DeviceFigures& figures);

/// The most devices and Ethernet interfaces with series, the first by name; `rdmascope_devices_truncated` is the number
/// of the others.
inline constexpr std::size_t most_devices = 32;
/// The most samples of one device in one metric: drivers have some hundred counters.
inline constexpr std::size_t most_samples_of_device = 512;

/// Rows of all_series().
std::vector<Series> device_series();

}  // namespace exporters::prometheus
