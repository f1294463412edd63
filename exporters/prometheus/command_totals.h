#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <prometheus/metric_family.h>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/prometheus/label_sets.h"
#include "exporters/prometheus/latency_buckets.h"
#include "exporters/prometheus/traffic_totals.h"
#include "metrics/figures/snapshot.h"

namespace exporters::prometheus {

/// Commands of upper layers, such as NVMe and NFS, by protocol, peer and class of command. Counters only grow.
class CommandCounters {
public:
    /// Classes of kinds, for all protocols alike.
    static constexpr std::array<std::string_view, 6> classes{"read", "write", "flush", "meta", "admin", "other"};
    static constexpr std::size_t class_count = classes.size();
    /// Which class a kind of command is of.
    static std::size_t class_of(const metrics::CommandConnectionFigures& connection,
                                const metrics::CommandKindFigures& kind);

    /// As TrafficTotals::add(). `labels` has assigned its places.
    void add(const metrics::Snapshot& difference, const metrics::Snapshot& now, LabelSets& labels,
             std::size_t max_peers);
    void append(std::vector<::prometheus::MetricFamily>& all) const;

    /// The rows of all_series().
    static std::vector<Series> series();
    static std::size_t series_bound(std::size_t max_peers);

private:
    using Key = std::pair<std::string, std::string>;  ///< protocol, peer
    struct Class {
        bool seen = false;
        std::array<std::uint64_t, metrics::command_error_count + 1> results{};  ///< without an error first
        std::array<std::uint64_t, 2> bytes{};                                   ///< to the initiator, to the target
        std::array<std::uint64_t, metrics::command_part_count> parts_ns{};
        std::array<std::uint64_t, 2> repair_ns{};  ///< of the command itself, of others
        LatencyBuckets latency;
    };
    struct Sums {
        std::array<Class, class_count> by_class;
        std::uint64_t at_limit_ns = 0;
        std::uint64_t unbound_operations = 0;
        // Gauges
        std::uint64_t open = 0;
        std::uint64_t limit = 0;
        std::uint64_t unanswered = 0;
    };
    Sums& sums_of(const metrics::FlowSnapshot& flow, LabelSets& labels, std::size_t max_peers);
    static void add(Class& sums, const metrics::CommandKindFigures& kind);
    static std::size_t most_sets(std::size_t max_peers) { return max_peers + 8; }

    std::map<Key, Sums> sums_ = {};
};

}  // namespace exporters::prometheus
