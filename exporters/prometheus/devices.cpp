#include "exporters/prometheus/devices.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "exporters/prometheus/labels.h"

namespace exporters::prometheus {
namespace {

using ::prometheus::ClientMetric;
using ::prometheus::MetricFamily;
using ::prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;
using metrics::CounterUnit;
using metrics::DeviceCounter;
using wire::CounterFact;

constexpr double second_ns = 1e9;

std::string text_of(std::uint32_t number) { return std::to_string(number); }
std::string priority_of(const DeviceCounter& counter) {
    return counter.priority < 0 ? "all" : std::to_string(counter.priority);
}

/// Facts that are one metric with a direction.
struct Way {
    CounterFact sent;
    CounterFact received;
    std::optional<std::string> of(const DeviceCounter& counter) const {
        if (counter.fact == sent) return "transmit";
        if (counter.fact == received) return "receive";
        return {};
    }
};
constexpr Way octets_ways{CounterFact::octets_sent, CounterFact::octets_received};
constexpr Way packets{CounterFact::packets_sent, CounterFact::packets_received};
constexpr Way pauses{CounterFact::pause_sent, CounterFact::pause_received};
constexpr Way pause_times{CounterFact::pause_sent_time, CounterFact::pause_received_time};

bool has_way(const DeviceCounter& counter) {
    return octets_ways.of(counter) || packets.of(counter) || pauses.of(counter) || pause_times.of(counter);
}

std::optional<Labels> by_port(const DeviceCounter& counter, const Way& way) {
    const auto direction = way.of(counter);
    if (!direction) return {};
    return Labels{{"device", counter.device}, {"port", text_of(counter.port)}, {"direction", *direction}};
}
std::optional<Labels> by_priority(const DeviceCounter& counter, const Way& way) {
    const auto direction = way.of(counter);
    if (!direction) return {};
    return Labels{{"device", counter.device}, {"priority", priority_of(counter)}, {"direction", *direction}};
}

/// A metric that counters make: under which labels one counts, if at all. What has the same labels is added up.
struct CounterRow {
    Series series;
    double factor;
    std::optional<Labels> (*take)(const DeviceCounter& counter);
};

Series counter(std::string_view name, std::string_view unit, std::string_view help,
               std::vector<std::string_view> labels) {
    return {name, unit, help, MetricType::Counter, std::move(labels)};
}

const std::vector<CounterRow>& counter_rows() {
    static const std::vector<CounterRow> rows{
        {counter("rdma_device_bytes_total", "bytes", "That the port of a device sent or received, by its own counters.",
                 {"device", "port", "direction"}),
         1, [](const DeviceCounter& one) { return by_port(one, octets_ways); }},
        {counter("rdma_device_packets_total", "packets",
                 "That the port of a device sent or received, by its own counters.", {"device", "port", "direction"}),
         1, [](const DeviceCounter& one) { return by_port(one, packets); }},
        {counter("rdma_device_pause_frames_total", "frames",
                 "PAUSE and priority flow control of an Ethernet interface: transmit where this machine could not take "
                 "what came, receive where the network could not take what it sends.",
                 {"device", "priority", "direction"}),
         1, [](const DeviceCounter& one) { return by_priority(one, pauses); }},
        {counter("rdma_device_pause_seconds_total", "seconds",
                 "How long pauses held an Ethernet interface (receive) or its peer (transmit), where the adapter says.",
                 {"device", "priority", "direction"}),
         1 / second_ns, [](const DeviceCounter& one) { return by_priority(one, pause_times); }},
        {counter("rdma_device_events_total", "",
                 "What drivers count under different names, by what it means: out_of_sequence, rnr_received, cnp_sent, "
                 "...",
                 {"device", "port", "event"}),
         1,
         [](const DeviceCounter& one) -> std::optional<Labels> {
             if (one.fact == CounterFact::other || has_way(one) || one.unit != CounterUnit::times) return {};
             return Labels{
                 {"device", one.device}, {"port", text_of(one.port)}, {"event", std::string(name_of(one.fact))}};
         }},
        {counter("rdma_device_other_total", "", "All others, by the driver's own name and in its own steps.",
                 {"device", "port", "counter"}),
         1,
         [](const DeviceCounter& one) -> std::optional<Labels> {
             if (has_way(one) || (one.fact != CounterFact::other && one.unit == CounterUnit::times)) return {};
             return Labels{{"device", one.device}, {"port", text_of(one.port)}, {"counter", one.name}};
         }},
    };
    return rows;
}

const Series port_series{"rdma_device_port_active",
                         "",
                         "1 while the port of a device is active.",
                         MetricType::Gauge,
                         {"device", "port", "protocol", "interface"}};
const Series queue_pair_series{"rdma_device_queue_pairs",
                               "queue pairs",
                               "That the kernel has of a device, by type and state.",
                               MetricType::Gauge,
                               {"device", "type", "state"}};
const Series truncation_series{"rdmascope_devices_truncated",
                               "devices",
                               "Devices without series of their own, for there are too many.",
                               MetricType::Gauge,
                               {}};

/// The samples of one metric, each set of labels once.
class Samples {
public:
    explicit Samples(const Series& series) : series_(series) {}

    void add(Labels labels, double value) {
        for (ClientMetric::Label& label : labels) label.value = label_value(label.value);
        const std::string& device = labels.front().value;
        if (const auto known = values_.find(labels); known != values_.end())
            known->second += value;
        else if (of_device_[device]++ < most_samples_of_device)
            values_.emplace(std::move(labels), value);
    }
    void append_to(std::vector<MetricFamily>& out) const {
        if (values_.empty()) return;
        MetricFamily family{std::string(series_.name), std::string(series_.help), series_.type, {}};
        for (const auto& [labels, value] : values_) {
            ClientMetric metric;
            metric.label = labels;
            (family.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
            family.metric.push_back(std::move(metric));
        }
        out.push_back(std::move(family));
    }

private:
    const Series& series_;
    std::map<Labels, double> values_;
    std::map<std::string, std::size_t> of_device_;
};

/// The devices that have series, and how many have not.
std::pair<std::set<std::string>, std::size_t> chosen_devices(const metrics::DeviceFigures& figures) {
    std::set<std::string> all;
    for (const auto& one : figures.counters) all.insert(one.device);
    for (const auto& one : figures.ports) all.insert(one.device);
    for (const auto& one : figures.queue_pairs) all.insert(one.device);
    std::set<std::string> chosen;
    for (const std::string& device : all)
        if (chosen.size() < most_devices) chosen.insert(device);
    const std::size_t left_out = all.size() - chosen.size();
    return {std::move(chosen), left_out};
}

}  // namespace

std::vector<Series> device_series() {
    std::vector<Series> all;
    for (const CounterRow& row : counter_rows()) all.push_back(row.series);
    all.insert(all.end(), {port_series, queue_pair_series, truncation_series});
    return all;
}

std::vector<MetricFamily> families(const metrics::DeviceFigures& figures) {
    std::vector<MetricFamily> all;
    const auto [devices, left_out] = chosen_devices(figures);
    if (devices.empty()) return all;
    for (const CounterRow& row : counter_rows()) {
        Samples samples(row.series);
        for (const DeviceCounter& one : figures.counters) {
            if (!one.queue_pairs.empty() || !devices.contains(one.device)) continue;
            if (auto labels = row.take(one))
                samples.add(std::move(*labels), static_cast<double>(one.value) * row.factor);
        }
        samples.append_to(all);
    }
    Samples ports(port_series);
    for (const metrics::DevicePort& one : figures.ports)
        if (devices.contains(one.device))
            ports.add({{"device", one.device},
                       {"port", text_of(one.port)},
                       {"protocol", one.protocol},
                       {"interface", one.interface}},
                      one.active ? 1 : 0);
    ports.append_to(all);
    Samples pairs(queue_pair_series);
    for (const metrics::DeviceQueuePair& one : figures.queue_pairs)
        if (devices.contains(one.device))
            pairs.add({{"device", one.device}, {"type", one.type}, {"state", one.state}}, 1);
    pairs.append_to(all);
    MetricFamily truncated{
        std::string(truncation_series.name), std::string(truncation_series.help), truncation_series.type, {}};
    truncated.metric.emplace_back();
    truncated.metric.back().gauge.value = static_cast<double>(left_out);
    all.push_back(std::move(truncated));
    return all;
}

}  // namespace exporters::prometheus
