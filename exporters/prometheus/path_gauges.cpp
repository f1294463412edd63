#include "exporters/prometheus/path_gauges.h"

#include <optional>

#include "metrics/answers/path_pairs.h"

namespace exporters::prometheus {
namespace {

using ::prometheus::ClientMetric;
using ::prometheus::MetricFamily;
using ::prometheus::MetricType;

struct PathRowOfTable {
    std::string_view name;
    std::string_view help;
    MetricType type;
};
constexpr std::array path_rows{
    PathRowOfTable{"rdma_path_entropies",
                   "Entropies (UDP source ports, flow labels, pairs of TCP ports) of the traffic in the last interval.",
                   MetricType::Gauge},
    PathRowOfTable{"rdma_path_effective_entropies", "The number of equal entropies that would be as even.",
                   MetricType::Gauge},
    PathRowOfTable{"rdma_path_busiest_ratio", "Bytes of the busiest entropy, divided by the mean of all.",
                   MetricType::Gauge},
    PathRowOfTable{"rdma_path_loss_episodes_total", "Runs of packets that were lost together.", MetricType::Counter},
};
constexpr std::size_t loss_row = 3;
constexpr std::array<std::string_view, 3> path_labels{"transport", "direction", "peer"};

/// Direction and peer of a pair of hosts; none if the peer has no place.
std::optional<std::pair<std::uint8_t, std::string>> way_of(const metrics::PathPair& pair, LabelSets& labels) {
    const bool transmits = labels.host(pair.source).own;
    const bool receives = !transmits && labels.host(pair.destination).own;
    const LabelSets::Host& peer = labels.host(receives ? pair.source : pair.destination);
    if (!peer.has_place) return {};
    return std::pair(static_cast<std::uint8_t>(transmits ? 0 : receives ? 1 : 2), peer.label);
}

}  // namespace

void PathGauges::add(const metrics::Snapshot& difference, LabelSets& labels) {
    std::map<Key, Sums> before = std::move(sums_);
    sums_.clear();
    // A peer that has lost its place loses its series.
    for (auto& [key, sums] : before) {
        if (!labels.holds_peer(key.peer)) continue;
        sums.now = false;
        sums.bytes = 0;
        sums_.emplace(key, sums);
    }
    for (const metrics::PathPair& pair : metrics::path_pairs(difference)) {
        const auto way = way_of(pair, labels);
        if (!way) continue;
        Sums& sums = sums_[{pair.transport, way->first, way->second}];
        sums.loss_episodes += pair.loss_episodes();
        const std::vector<std::uint64_t> bytes = pair.bytes();
        const metrics::Evenness even = metrics::evenness_of(bytes);
        if (even.entropies == 0 || pair.wire_bytes() <= sums.bytes) continue;
        sums.now = true;
        sums.bytes = pair.wire_bytes();
        sums.gauges = {static_cast<double>(pair.entropies), even.effective, even.max_over_mean};
    }
}

void PathGauges::append(std::vector<MetricFamily>& all) const {
    for (std::size_t row = 0; row < path_rows.size(); ++row) {
        MetricFamily& family = all.emplace_back(
            MetricFamily{std::string(path_rows[row].name), std::string(path_rows[row].help), path_rows[row].type, {}});
        for (const auto& [key, sums] : sums_) {
            if (row != loss_row && !sums.now) continue;
            ClientMetric& metric = family.metric.emplace_back();
            metric.label = {{std::string(path_labels[0]), std::string(metrics::name_of(key.transport))},
                            {std::string(path_labels[1]), std::string(directions[key.direction])},
                            {std::string(path_labels[2]), key.peer}};
            if (row == loss_row)
                metric.counter.value = static_cast<double>(sums.loss_episodes);
            else
                metric.gauge.value = sums.gauges[row];
        }
    }
}

std::vector<Series> PathGauges::series() {
    std::vector<Series> all;
    all.reserve(path_rows.size());
    for (const PathRowOfTable& row : path_rows)
        all.push_back({row.name, "", row.help, row.type, {path_labels.begin(), path_labels.end()}});
    return all;
}

std::size_t PathGauges::series_bound(std::size_t max_peers) {
    return max_peers * transport_count * directions.size() * path_rows.size();
}

}  // namespace exporters::prometheus
