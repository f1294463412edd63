#pragma once
#include <cstddef>
#include <prometheus/metric_family.h>
#include <vector>

#include "exporters/prometheus/traffic_totals.h"
#include "metrics/figures/device_figures.h"

namespace exporters::prometheus {

/// What this machine's devices count (`rdma_device_*`), in the order of the table; those without a sample are left out.
/// Counters of some queue pairs alone are not: their port's have them, and a queue pair is no label.
std::vector<::prometheus::MetricFamily> families(const metrics::DeviceFigures& figures);

/// Series of a limited number of devices and Ethernet interfaces, the first by name; `rdmascope_devices_truncated` says
/// how many more there are.
inline constexpr std::size_t most_devices = 32;
/// Of one device in one metric: drivers have some hundred counters.
inline constexpr std::size_t most_samples_of_device = 512;

/// Rows of all_series().
std::vector<Series> device_series();

}  // namespace exporters::prometheus
