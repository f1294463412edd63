#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <prometheus/metric_family.h>
#include <vector>

#include "fabric/findings/subnet_finding.h"
#include "fabric/node_names.h"
#include "fabric/subnet.h"

namespace service {

/// A reading of the InfiniBand subnet, and what is wrong there.
struct SubnetReading {
    fabric::Subnet subnet = {};
    std::vector<fabric::findings::Finding> findings = {};
    fabric::NodeLabels labels = fabric::NodeLabels();
    std::int64_t took_ns = 0;
};

/// How the daemon's readings of the subnet went.
struct SubnetPolling {
    std::shared_ptr<const SubnetReading> latest = {};  ///< the last one that succeeded; null before
    std::uint64_t readings = 0;
    std::uint64_t failures = 0;
    bool is_up = false;         ///< the last one succeeded
    std::size_t max_ports = 0;  ///< ports with series of their own
};

/// The series of rdmascope-prometheus(7); families without a sample are left out. Ports with findings have series
/// first, then those that sent the most. Both ends are labels by name; the GUID keeps equal names apart.
std::vector<::prometheus::MetricFamily> families(const SubnetPolling& polling);

/// The most degraded links, and subnet managers, with series.
inline constexpr std::size_t most_degraded_links = 64;
inline constexpr std::size_t most_managers = 16;

}  // namespace service
