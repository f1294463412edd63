#include "exporters/prometheus/traffic_totals.h"

#include <algorithm>
#include <mutex>

#include "exporters/prometheus/attempts.h"
#include "exporters/prometheus/command_totals.h"
#include "exporters/prometheus/label_sets.h"
#include "exporters/prometheus/labels.h"
#include "exporters/prometheus/latency_buckets.h"
#include "exporters/prometheus/path_gauges.h"
#include "exporters/prometheus/tables.h"

namespace exporters::prometheus {
namespace {

using ::prometheus::ClientMetric;
using ::prometheus::MetricFamily;
using ::prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

constexpr std::size_t most_own_hosts = 64;
constexpr std::int64_t time_to_settle_ns = 1'000'000'000;
constexpr std::uint64_t no_limit = ~std::uint64_t{0};

void add_to(Taken& sum, const Taken& more) {
    if (more) sum = sum ? (*sum > no_limit - *more ? no_limit : *sum + *more) : *more;
}

/// Everything that is counted under one set of labels, in the order of the table's rows and their values.
struct Group {
    std::vector<Taken> counters;
    std::vector<std::unique_ptr<LatencyBuckets>> histograms;  ///< null until there is a sample
    std::vector<double> gauges;
};

template <class Rows>
std::size_t values_of(const Rows& rows) {
    std::size_t count = 0;
    for (const auto& row : rows) count += row.dimension.size();
    return count;
}

void add(Group& group, const metrics::FlowSnapshot& flow, const Taking& taking) {
    const TrafficTable& table = traffic_table();
    group.counters.resize(values_of(table.counters));
    group.histograms.resize(values_of(table.histograms));
    auto sum = group.counters.begin();
    for (const FlowCounter& row : table.counters)
        for (std::size_t i = 0; i < row.dimension.size(); ++i) {
            const Taken value = row.take(flow, i, taking);
            add_to(*sum++, row.settles && value ? Taken{0} : value);
        }
    auto buckets = group.histograms.begin();
    for (const FlowHistogram& row : table.histograms)
        for (std::size_t i = 0; i < row.dimension.size(); ++i) {
            auto& collected = *buckets++;
            const metrics::Histogram& samples = row.take(flow, i);
            if (samples.empty()) continue;
            if (!collected) collected = std::make_unique<LatencyBuckets>();
            collected->add(samples);
        }
}

MetricFamily traffic_family(const Series& series) {
    return {std::string(series.name), std::string(series.help), series.type, {}};
}

ClientMetric sample(const MetricFamily& family, double value, Labels labels) {
    ClientMetric metric;
    metric.label = std::move(labels);
    (family.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
    return metric;
}

ClientMetric histogram_sample(const LatencyBuckets& buckets, Labels labels) {
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.histogram.sample_count = buckets.count;
    metric.histogram.sample_sum = static_cast<double>(buckets.sum_ns) * 1e-9;
    std::uint64_t cumulative = 0;
    for (std::size_t i = 0; i < LatencyBuckets::bounds; ++i) {
        cumulative += buckets.counts[i];
        metric.histogram.bucket.push_back({cumulative, LatencyBuckets::bound_seconds(i)});
    }
    metric.histogram.bucket.push_back({buckets.count, std::numeric_limits<double>::infinity()});
    return metric;
}

Labels with(Labels labels, const Dimension& dimension, std::size_t value) {
    if (!dimension.label.empty())
        labels.push_back({std::string(dimension.label), std::string(dimension.values[value])});
    return labels;
}

}  // namespace

struct TrafficTotals::State {
    explicit State(const TrafficOptions& options)
        : label_sets(options), max_peers(options.max_peers), taking{options.crc_verified} {}

    mutable std::mutex mutex;
    LabelSets label_sets;
    std::size_t max_peers;
    CommandCounters commands = {};
    PathGauges paths = {};
    Taking taking;
    std::map<LabelSet, Group> groups;
    std::map<std::uint16_t, std::vector<Taken>> pauses;       ///< by the interface's number
    std::map<std::string, std::vector<std::uint64_t>> hosts;  ///< by label
    struct Settling {
        std::uint64_t least = 0;  ///< since
        std::int64_t since_ns = 0;
        std::uint64_t counted = 0;
    };
    std::map<std::pair<std::size_t, std::uint64_t>, Settling> settling;  ///< by the counter's place and the flow's id
    Attempts attempts;
    Truncation truncation;
    std::int64_t last_ns = 0;

    double elapsed_seconds(const metrics::Snapshot& now);
    void add_flows(const metrics::Snapshot& difference);
    void settle(const metrics::Snapshot& now);
    void settle(std::size_t place, Taken& sum, const metrics::FlowSnapshot& flow, std::uint64_t value,
                decltype(settling)& kept);
    void set_gauges(const metrics::Snapshot& difference, const metrics::Snapshot& now);
    void add_pauses(const metrics::Snapshot& difference);
    void set_hosts(const metrics::Snapshot& now);

    void append_flow_counters(std::vector<MetricFamily>& all, const std::vector<Labels>& labels) const;
    void append_flow_histograms(std::vector<MetricFamily>& all, const std::vector<Labels>& labels) const;
    void append_flow_gauges(std::vector<MetricFamily>& all, const std::vector<Labels>& labels) const;
    void append_pauses(std::vector<MetricFamily>& all) const;
    void append_others(std::vector<MetricFamily>& all) const;
};

/// By the capture's clock, which may have been set back.
double TrafficTotals::State::elapsed_seconds(const metrics::Snapshot& now) {
    const std::int64_t before = std::exchange(last_ns, now.capture.last_ns);
    return before == 0 || before > last_ns ? 0 : static_cast<double>(last_ns - before) * 1e-9;
}

void TrafficTotals::State::add_flows(const metrics::Snapshot& difference) {
    std::erase_if(groups, [this](const auto& group) { return !label_sets.lives(group.first); });
    for (const auto& flow : difference.flows) prometheus::add(groups[label_sets.of(flow)], flow, taking);
}

void TrafficTotals::State::settle(const metrics::Snapshot& now) {
    decltype(settling) kept;
    std::size_t place = 0;
    for (const FlowCounter& row : traffic_table().counters) {
        if (!row.settles) {
            place += row.dimension.size();
            continue;
        }
        for (std::size_t i = 0; i < row.dimension.size(); ++i) {
            for (const auto& flow : now.flows) {
                const auto value = row.take(flow, i, taking);
                if (!value || (*value == 0 && !settling.contains({place, flow.id}))) continue;
                const auto group = groups.find(label_sets.of(flow));
                if (group != groups.end()) settle(place, group->second.counters[place], flow, *value, kept);
            }
            ++place;
        }
    }
    settling = std::move(kept);
}

void TrafficTotals::State::settle(std::size_t place, Taken& sum, const metrics::FlowSnapshot& flow, std::uint64_t value,
                                  decltype(settling)& kept) {
    const auto known = settling.find({place, flow.id});
    Settling now = known == settling.end() ? Settling{value, last_ns, 0} : known->second;
    now.least = std::min(now.least, value);
    const bool set_back = last_ns < now.since_ns;
    if (set_back || last_ns - now.since_ns >= time_to_settle_ns) {
        if (!set_back && now.least > now.counted) {
            add_to(sum, now.least - now.counted);
            now.counted = now.least;
        }
        now.least = value;
        now.since_ns = last_ns;
    }
    kept.emplace(std::pair{place, flow.id}, now);
}

void TrafficTotals::State::set_gauges(const metrics::Snapshot& difference, const metrics::Snapshot& now) {
    const auto& rows = traffic_table().gauges;
    for (auto& [set, group] : groups) group.gauges.assign(rows.size(), 0);
    const auto length = static_cast<double>(difference.capture.last_ns - difference.capture.first_ns);
    const auto add_all = [&](const metrics::Snapshot& snapshot, FlowGauge::Source source) {
        for (const auto& flow : snapshot.flows) {
            const auto group = groups.find(label_sets.of(flow));
            if (group == groups.end()) continue;
            const double share = length > 0 ? std::min(1.0, static_cast<double>(flow.wall_ns()) / length) : 1;
            for (std::size_t i = 0; i < rows.size(); ++i)
                if (rows[i].source == source) group->second.gauges[i] += rows[i].take(flow, share);
        }
    };
    add_all(difference, FlowGauge::Source::difference);
    add_all(now, FlowGauge::Source::now);
}

void TrafficTotals::State::add_pauses(const metrics::Snapshot& difference) {
    std::erase_if(pauses, [this](const auto& pause) { return !label_sets.interface_lives(pause.first); });
    const auto& rows = traffic_table().pauses;
    for (const auto& pause : difference.pauses) {
        auto& sums = pauses[label_sets.interface_of(pause.interface)];
        sums.resize(values_of(rows));
        auto sum = sums.begin();
        for (const PauseCounter& row : rows)
            for (std::size_t i = 0; i < row.dimension.size(); ++i) {
                if (const Taken more = row.take(pause, i)) *sum = sum->value_or(0) + *more;
                ++sum;
            }
    }
}

void TrafficTotals::State::set_hosts(const metrics::Snapshot& now) {
    const auto& rows = traffic_table().hosts;
    hosts.clear();
    std::size_t own_hosts = 0;
    for (const auto& host : now.hosts) {
        const LabelSets::Host& known = label_sets.host(host.address);
        if (!known.has_place && (!known.own || ++own_hosts > most_own_hosts)) continue;
        auto& values = hosts[known.label];
        values.resize(rows.size());
        for (std::size_t i = 0; i < rows.size(); ++i) values[i] = std::max(values[i], rows[i].take(host));
    }
}

void TrafficTotals::State::append_flow_counters(std::vector<MetricFamily>& all,
                                                const std::vector<Labels>& labels) const {
    std::size_t column = 0;
    for (const FlowCounter& row : traffic_table().counters) {
        MetricFamily family = traffic_family(row.series);
        auto label = labels.begin();
        for (const auto& [set, group] : groups) {
            for (std::size_t i = 0; i < row.dimension.size(); ++i)
                if (const Taken& sum = group.counters[column + i])
                    family.metric.push_back(
                        sample(family, static_cast<double>(*sum) * row.factor, with(*label, row.dimension, i)));
            ++label;
        }
        column += row.dimension.size();
        all.push_back(std::move(family));
    }
}

void TrafficTotals::State::append_flow_histograms(std::vector<MetricFamily>& all,
                                                  const std::vector<Labels>& labels) const {
    std::size_t column = 0;
    for (const FlowHistogram& row : traffic_table().histograms) {
        MetricFamily family = traffic_family(row.series);
        auto label = labels.begin();
        for (const auto& [set, group] : groups) {
            for (std::size_t i = 0; i < row.dimension.size(); ++i)
                if (const auto& buckets = group.histograms[column + i])
                    family.metric.push_back(histogram_sample(*buckets, with(*label, row.dimension, i)));
            ++label;
        }
        column += row.dimension.size();
        all.push_back(std::move(family));
    }
}

void TrafficTotals::State::append_flow_gauges(std::vector<MetricFamily>& all, const std::vector<Labels>& labels) const {
    const auto& rows = traffic_table().gauges;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        MetricFamily family = traffic_family(rows[i].series);
        auto label = labels.begin();
        for (const auto& [set, group] : groups) family.metric.push_back(sample(family, group.gauges[i], *label++));
        all.push_back(std::move(family));
    }
}

void TrafficTotals::State::append_pauses(std::vector<MetricFamily>& all) const {
    std::size_t column = 0;
    for (const PauseCounter& row : traffic_table().pauses) {
        MetricFamily family = traffic_family(row.series);
        for (const auto& [number, sums] : pauses)
            for (std::size_t i = 0; i < row.dimension.size(); ++i)
                if (const Taken& sum = sums[column + i])
                    family.metric.push_back(sample(
                        family, static_cast<double>(*sum) * row.factor,
                        with({{"interface", std::string(label_sets.interface_name(number))}}, row.dimension, i)));
        column += row.dimension.size();
        all.push_back(std::move(family));
    }
}

void TrafficTotals::State::append_others(std::vector<MetricFamily>& all) const {
    const TrafficTable& table = traffic_table();
    for (std::size_t i = 0; i < table.hosts.size(); ++i) {
        MetricFamily family = traffic_family(table.hosts[i].series);
        for (const auto& [label, values] : hosts)
            family.metric.push_back(sample(family, static_cast<double>(values[i]), {{"host", label}}));
        all.push_back(std::move(family));
    }
    MetricFamily family = traffic_family(table.attempts);
    for (std::size_t transport = 0; transport < Attempts::transports; ++transport) {
        const auto& counts = attempts.counts()[transport];
        if (std::all_of(counts.begin(), counts.end(), [](std::uint64_t count) { return count == 0; })) continue;
        for (std::size_t outcome = 0; outcome < counts.size(); ++outcome)
            family.metric.push_back(
                sample(family, static_cast<double>(counts[outcome]),
                       {{"transport", std::string(metrics::name_of(static_cast<wire::Transport>(transport)))},
                        {"outcome", std::string(name_of(attempt_outcomes[outcome]))}}));
    }
    all.push_back(std::move(family));
    for (const TruncationGauge& row : table.truncation) {
        all.push_back(traffic_family(row.series));
        all.back().metric.push_back(sample(all.back(), static_cast<double>(truncation.*row.member), {}));
    }
}

TrafficTotals::TrafficTotals(const TrafficOptions& options) : state_(std::make_unique<State>(options)) {}
TrafficTotals::~TrafficTotals() = default;

void TrafficTotals::set_options(const TrafficOptions& options) {
    const std::scoped_lock lock(state_->mutex);
    state_->label_sets.set_options(options);
    state_->max_peers = options.max_peers;
    state_->taking.crc_verified = options.crc_verified;
}

void TrafficTotals::add(const metrics::Snapshot& difference, const metrics::Snapshot& now,
                        const metrics::HostNames& names, const std::vector<metrics::Address>& own_addresses) {
    const std::scoped_lock lock(state_->mutex);
    state_->label_sets.assign(difference, names, own_addresses, state_->elapsed_seconds(now));
    state_->add_flows(difference);
    state_->settle(now);
    state_->set_gauges(difference, now);
    state_->add_pauses(difference);
    state_->set_hosts(now);
    state_->attempts.add(difference, now);
    state_->commands.add(difference, now, state_->label_sets, state_->max_peers);
    state_->paths.add(difference, state_->label_sets);
    state_->truncation = state_->label_sets.truncation(difference, now);
}

std::vector<MetricFamily> TrafficTotals::families() const {
    const std::scoped_lock lock(state_->mutex);
    std::vector<Labels> labels;
    for (const auto& [set, group] : state_->groups) {
        const auto values = state_->label_sets.values(set);
        const auto& names = traffic_table().counters.front().series.labels;
        Labels& list = labels.emplace_back();
        for (std::size_t i = 0; i < values.size(); ++i) list.push_back({std::string(names[i]), values[i]});
    }
    std::vector<MetricFamily> all;
    state_->append_flow_counters(all, labels);
    state_->append_flow_histograms(all, labels);
    state_->append_flow_gauges(all, labels);
    state_->append_pauses(all);
    state_->append_others(all);
    state_->commands.append(all);
    state_->paths.append(all);
    std::erase_if(all, [](const MetricFamily& family) { return family.metric.empty(); });
    return all;
}

std::size_t series_bound(const TrafficOptions& options) {
    const TrafficTable& traffic = traffic_table();
    const std::size_t of_histogram = LatencyBuckets::bounds + 3;  // +Inf, sum, count
    const std::size_t of_set =
        values_of(traffic.counters) + values_of(traffic.histograms) * of_histogram + traffic.gauges.size();
    const std::size_t of_traffic = LabelSets::most_sets(options.max_peers) * of_set +
                                   (LabelSets::most_interfaces + 1) * values_of(traffic.pauses) +
                                   (options.max_peers + most_own_hosts) * traffic.hosts.size() +
                                   Attempts::transports * attempt_outcomes.size() + traffic.truncation.size();
    const ProgramTable& program = program_table();
    return of_traffic + CommandCounters::series_bound(options.max_peers) + PathGauges::series_bound(options.max_peers) +
           1 + program.program.size() + most_program_interfaces * values_of(program.interfaces);
}

}  // namespace exporters::prometheus
