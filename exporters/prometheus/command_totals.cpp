#include "exporters/prometheus/command_totals.h"

#include <algorithm>
#include <limits>

namespace exporters::prometheus {

namespace {

using ::prometheus::ClientMetric;
using ::prometheus::MetricFamily;
using ::prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

constexpr std::string_view other_peer = "other";
constexpr double seconds_per_ns = 1e-9;
constexpr std::array<std::string_view, 2> data_directions{"in", "out"};
constexpr std::array<std::string_view, 2> repairs{"own", "others"};

/// The rows of make_rows(), in the same order.
enum Place : std::size_t {
    commands_total,
    bytes_total,
    seconds,
    part_seconds,
    repair_seconds,
    open_commands,
    limit,
    at_limit,
    waiting_commands,
    unbound,
    place_count
};

Series row(std::string_view name, std::string_view unit, MetricType type, std::string_view help,
           std::vector<std::string_view> more) {
    Series series{name, unit, help, type, {"protocol", "peer"}};
    series.labels.insert(series.labels.end(), more.begin(), more.end());
    return series;
}

std::vector<Series> make_rows() {
    return {
        row("rdmascope_io_commands_total", "", MetricType::Counter,
            "Commands of upper layers (NVMe, NFS, SCSI, SMB) that were answered, by what the answer says.",
            {"kind", "result"}),
        row("rdmascope_io_bytes_total", "bytes", MetricType::Counter,
            "Data of those commands that passed: in, to the initiator; out, to the target.", {"kind", "direction"}),
        row("rdmascope_io_seconds", "seconds", MetricType::Histogram,
            "Latency of commands: first packet of the request to the last of the response.", {"kind"}),
        row("rdmascope_io_part_seconds_total", "seconds", MetricType::Counter,
            "Parts of the latency; they sum to rdmascope_io_seconds_sum.", {"kind", "part"}),
        row("rdmascope_io_repair_seconds_total", "seconds", MetricType::Counter,
            "The part of the latency in which packets were sent again: the command's own, or those of others before "
            "it.",
            {"kind", "whose"}),
        row("rdmascope_io_open", "", MetricType::Gauge, "Commands that are open.", {}),
        row("rdmascope_io_limit", "", MetricType::Gauge, "Commands that may be open, on all connections together.", {}),
        row("rdmascope_io_at_limit_seconds_total", "seconds", MetricType::Counter,
            "Time for which connections had as many commands open as they may.", {}),
        row("rdmascope_io_unanswered", "", MetricType::Gauge,
            "Open commands that have waited for an answer for more than 5 s.", {}),
        row("rdmascope_io_unbound_operations_total", "", MetricType::Counter,
            "READs and WRITEs of targets that belong to no command that is known.", {}),
    };
}

const std::vector<Series>& rows() {
    static const std::vector<Series> all = make_rows();
    return all;
}

bool is_one_of(std::string_view kind, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), kind) != names.end();
}

/// The families, in the order of Place, while they are filled.
class Families {
public:
    Families() {
        all_.reserve(place_count);
        for (const Series& series : rows())
            all_.push_back({std::string(series.name), std::string(series.help), series.type, {}});
    }
    void add(Place place, double value, Labels labels) {
        ClientMetric metric;
        metric.label = std::move(labels);
        MetricFamily& family = all_[place];
        (family.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
        family.metric.push_back(std::move(metric));
    }
    void add(const LatencyBuckets& buckets, Labels labels) {
        ClientMetric metric;
        metric.label = std::move(labels);
        metric.histogram.sample_count = buckets.count;
        metric.histogram.sample_sum = static_cast<double>(buckets.sum_ns) * seconds_per_ns;
        std::uint64_t cumulative = 0;
        for (std::size_t i = 0; i < LatencyBuckets::bounds; ++i) {
            cumulative += buckets.counts[i];
            metric.histogram.bucket.push_back({cumulative, LatencyBuckets::bound_seconds(i)});
        }
        metric.histogram.bucket.push_back({buckets.count, std::numeric_limits<double>::infinity()});
        all_[seconds].metric.push_back(std::move(metric));
    }
    std::vector<MetricFamily>& all() { return all_; }

private:
    std::vector<MetricFamily> all_ = {};
};

Labels with(Labels labels, std::string_view name, std::string_view value) {
    labels.push_back({std::string(name), std::string(value)});
    return labels;
}

/// "ok", then the names of the errors.
std::array<std::string_view, metrics::command_error_count + 1> make_results() {
    std::array<std::string_view, metrics::command_error_count + 1> results{"ok"};
    std::copy(metrics::command_error_names.begin(), metrics::command_error_names.end(), results.begin() + 1);
    return results;
}

/// A sample for each name, also for values of 0: increase() and rate() see the first event of a series only if the
/// series was at 0 before.
template <class Values, class Names>
void add_each(Families& families, Place place, const Labels& labels, std::string_view name, const Values& values,
              const Names& names, double factor) {
    for (std::size_t i = 0; i < values.size(); ++i)
        families.add(place, static_cast<double>(values[i]) * factor, with(labels, name, names[i]));
}

}  // namespace

std::size_t CommandCounters::class_of(const metrics::CommandConnectionFigures& connection,
                                      const metrics::CommandKindFigures& kind) {
    constexpr std::size_t read = 0;
    constexpr std::size_t write = 1;
    constexpr std::size_t flush = 2;
    constexpr std::size_t meta = 3;
    constexpr std::size_t admin = 4;
    constexpr std::size_t other = 5;
    if (kind.housekeeping) return admin;
    const std::string_view name = kind.kind;
    if (is_one_of(name, {"read", "read_plus"})) return read;
    if (is_one_of(name, {"write", "write_and_verify"})) return write;
    if (is_one_of(name, {"flush", "commit", "synchronize_cache"})) return flush;
    if (connection.protocol == "nvme") return connection.queue == 0 || name == "connect" ? admin : other;
    return connection.protocol == "rpc" || connection.protocol == "smb" ? meta : other;
}

CommandCounters::Sums& CommandCounters::sums_of(const metrics::FlowSnapshot& flow, LabelSets& labels,
                                                std::size_t max_peers) {
    const LabelSets::Host& source = labels.host(flow.source.address);
    const bool is_own = source.own;
    const LabelSets::Host& destination = labels.host(flow.destination.address);
    const LabelSets::Host& peer = destination.own && !is_own ? labels.host(flow.source.address) : destination;
    Key key{flow.commands->protocol, peer.has_place ? peer.label : std::string(other_peer)};
    if (!sums_.contains(key) && sums_.size() >= most_sets(max_peers)) key.second = other_peer;
    return sums_[key];
}

void CommandCounters::add(Class& sums, const metrics::CommandKindFigures& kind) {
    sums.seen = true;
    sums.results[0] += kind.commands - std::min(kind.commands, kind.errors);
    for (std::size_t i = 0; i < metrics::command_error_count; ++i) sums.results[i + 1] += kind.error_classes[i];
    sums.bytes[0] += kind.moved_in_bytes;
    sums.bytes[1] += kind.moved_out_bytes;
    for (std::size_t i = 0; i < metrics::command_part_count; ++i) sums.parts_ns[i] += kind.parts_ns[i].sum();
    sums.repair_ns[0] += kind.repair_own_ns;
    sums.repair_ns[1] += kind.repair_behind_ns;
    sums.latency.add(kind.latency_ns);
}

void CommandCounters::add(const metrics::Snapshot& difference, const metrics::Snapshot& now, LabelSets& labels,
                          std::size_t max_peers) {
    for (const metrics::FlowSnapshot& flow : difference.flows) {
        if (!flow.commands || flow.commands->of_target) continue;
        Sums& sums = sums_of(flow, labels, max_peers);
        sums.at_limit_ns += flow.commands->at_limit_ns;
        sums.unbound_operations += flow.commands->unbound_operations;
        for (const metrics::CommandKindFigures& kind : flow.commands->kinds)
            add(sums.by_class[class_of(*flow.commands, kind)], kind);
    }
    for (auto& [key, sums] : sums_) sums.open = sums.limit = sums.unanswered = 0;
    for (const metrics::FlowSnapshot& flow : now.flows) {
        if (!flow.commands || flow.commands->of_target || flow.finished) continue;
        Sums& sums = sums_of(flow, labels, max_peers);
        sums.open += flow.commands->open_now;
        sums.limit += flow.commands->limit.value_or(0);
        sums.unanswered += flow.commands->open_long;
    }
}

void CommandCounters::append(std::vector<MetricFamily>& all) const {
    Families families;
    const auto results = make_results();
    for (const auto& [key, sums] : sums_) {
        const Labels labels{{"protocol", key.first}, {"peer", key.second}};
        for (std::size_t i = 0; i < class_count; ++i) {
            const Class& one = sums.by_class[i];
            if (!one.seen) continue;
            const Labels of_class = with(labels, "kind", classes[i]);
            add_each(families, commands_total, of_class, "result", one.results, results, 1);
            add_each(families, bytes_total, of_class, "direction", one.bytes, data_directions, 1);
            families.add(one.latency, of_class);
            add_each(families, part_seconds, of_class, "part", one.parts_ns, metrics::command_part_names,
                     seconds_per_ns);
            add_each(families, repair_seconds, of_class, "whose", one.repair_ns, repairs, seconds_per_ns);
        }
        families.add(open_commands, static_cast<double>(sums.open), labels);
        families.add(limit, static_cast<double>(sums.limit), labels);
        families.add(at_limit, static_cast<double>(sums.at_limit_ns) * seconds_per_ns, labels);
        families.add(waiting_commands, static_cast<double>(sums.unanswered), labels);
        families.add(unbound, static_cast<double>(sums.unbound_operations), labels);
    }
    for (MetricFamily& family : families.all()) all.push_back(std::move(family));
}

std::vector<Series> CommandCounters::series() { return rows(); }

std::size_t CommandCounters::series_bound(std::size_t max_peers) {
    constexpr std::size_t of_histogram = LatencyBuckets::bounds + 3;  // +Inf, sum, count
    constexpr std::size_t of_class = metrics::command_error_count + 1 + data_directions.size() + of_histogram +
                                     metrics::command_part_count + repairs.size();
    constexpr std::size_t of_connections = place_count - open_commands;
    // Beyond the sets there is "other", once for each protocol.
    constexpr std::size_t most_protocols = 8;
    return (most_sets(max_peers) + most_protocols) * (class_count * of_class + of_connections);
}

}  // namespace exporters::prometheus
