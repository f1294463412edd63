#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <prometheus/metric_family.h>
#include <string>
#include <utility>
#include <vector>

#include "exporters/prometheus/label_sets.h"
#include "exporters/prometheus/traffic_totals.h"
#include "metrics/figures/snapshot.h"

namespace exporters::prometheus {

/// How evenly the traffic with each peer is spread over entropies, `rdma_path_*{transport,direction,peer}`, and how
/// often packets were lost together. Only peers with a place have series: sums over several peers would mean nothing,
/// because switches hash the addresses, too.
class PathGauges {
public:
    /// `difference`: of the last interval. `labels` has assigned its places.
    void add(const metrics::Snapshot& difference, LabelSets& labels);
    void append(std::vector<::prometheus::MetricFamily>& all) const;

    /// The rows of all_series().
    static std::vector<Series> series();
    static std::size_t series_bound(std::size_t max_peers);

private:
    struct Key {
        wire::Transport transport{};
        std::uint8_t direction = 0;
        std::string peer;
        auto operator<=>(const Key&) const = default;
    };
    struct Sums {
        bool now = false;                ///< the last interval had traffic
        std::uint64_t bytes = 0;         ///< of the pair of hosts that the gauges are of, the one with the most
        std::array<double, 3> gauges{};  ///< in the order of the rows
        std::uint64_t loss_episodes = 0;
    };

    std::map<Key, Sums> sums_ = {};
};

}  // namespace exporters::prometheus
