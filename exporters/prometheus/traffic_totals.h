#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <prometheus/metric_family.h>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/answers/answer.h"
#include "metrics/figures/snapshot.h"

/// Prometheus' view of the traffic: sums over flows, by labels that cannot grow without bound.
namespace exporters::prometheus {

/// One metric as its table row declares it (traffic_table.cpp, program_table.cpp); manual, dashboards and tests read
/// this.
struct Series {
    std::string_view name;
    std::string_view unit;  ///< "packets", "bytes", "seconds"; empty for plain counts
    std::string_view help;
    ::prometheus::MetricType type{};
    std::vector<std::string_view> labels;
};
/// All that can be exported, in the order of the output.
std::vector<Series> all_series();

struct TrafficOptions {
    std::size_t max_peers = 20;           ///< with series of their own, the busiest; the others are "other"
    std::vector<std::string> interfaces;  ///< names, by FlowSnapshot::interface
    bool crc_verified = true;
};

/// The bound on the number of series, whatever the traffic: docs/prometheus.md, "Bounds".
std::size_t series_bound(const TrafficOptions& options);

/// Counters that only grow, though flows come and go: each interval's difference is added once. Label `peer` is the
/// other host's name, else its address. `direction` is `transmit` or `receive` as this machine sees it, or `forward` if
/// neither end is of this machine (then `peer` is the receiver). Safe to use from several threads.
class TrafficTotals {
public:
    explicit TrafficTotals(const TrafficOptions& options);
    ~TrafficTotals();
    TrafficTotals(const TrafficTotals&) = delete;
    TrafficTotals& operator=(const TrafficTotals&) = delete;

    /// `difference`: what happened since the last call; `now`: the state itself, for gauges (queue pairs, incast).
    void add(const metrics::Snapshot& difference, const metrics::Snapshot& now, const metrics::HostNames& names,
             const std::vector<metrics::Address>& own_addresses);
    /// Counts continue; peers that lost their place lose their series.
    void set_options(const TrafficOptions& options);
    /// Families in the order of their table; those without a sample are left out.
    std::vector<::prometheus::MetricFamily> families() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// `rdmascope_*`: the program itself.
struct ProgramFigures {
    std::string version;
    double uptime_seconds = 0;
    struct Interface {
        std::string name;
        bool open = false;
        std::uint64_t received_packets = 0;
        std::uint64_t kernel_dropped_packets = 0;
        std::uint64_t interface_dropped_packets = 0;
        std::optional<std::uint64_t> bits_per_sec = {};  ///< of its link, where the kernel tells
    };
    std::vector<Interface> interfaces;
    bool iwarp_learning_in_kernel = false;
    std::uint64_t iwarp_connections_learnt = 0;  ///< by the kernel, as are the next two
    std::uint64_t iwarp_connections_open = 0;
    std::uint64_t iwarp_connections_evicted = 0;
    std::uint64_t captured_packets = 0;
    std::uint64_t captured_bytes = 0;
    std::uint64_t truncated_packets = 0;
    std::uint64_t malformed_packets = 0;
    std::uint64_t flows = 0;
    std::uint64_t flows_evicted = 0;
    std::uint64_t flows_forgotten = 0;
    std::uint64_t memory_bytes = 0;
    double busy_share = 0;
    std::uint64_t history_intervals = 0;
    std::uint64_t history_bytes = 0;
    std::uint64_t history_lost_intervals = 0;
    std::uint64_t trace_records = 0;
    std::uint64_t trace_records_lost = 0;
    std::uint64_t recorder_frames = 0;
    std::uint64_t recordings = 0;
    std::uint64_t recordings_failed = 0;
    std::uint64_t clickhouse_intervals_spooled = 0;
    std::uint64_t clickhouse_intervals_sent = 0;
    std::uint64_t clickhouse_intervals_dropped = 0;
    std::uint64_t clickhouse_spool_failures = 0;
    std::uint64_t clickhouse_rows_sent = 0;
    std::uint64_t clickhouse_failures = 0;
    std::uint64_t clickhouse_spool_bytes = 0;
    std::uint64_t control_clients = 0;
    std::uint64_t control_skipped_updates = 0;
    std::uint64_t config_reloads = 0;
    bool config_reload_ok = true;
};
std::vector<::prometheus::MetricFamily> families(const ProgramFigures& figures);

/// The text format 0.0.4 of all of them.
std::string text(const std::vector<::prometheus::MetricFamily>& families);

}  // namespace exporters::prometheus
