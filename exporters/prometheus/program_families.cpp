#include <algorithm>
#include <prometheus/text_serializer.h>

#include "exporters/prometheus/labels.h"
#include "exporters/prometheus/tables.h"

namespace exporters::prometheus {
namespace {

using ::prometheus::ClientMetric;
using ::prometheus::MetricFamily;
using ::prometheus::MetricType;

MetricFamily program_family(const Series& series) {
    return {std::string(series.name), std::string(series.help), series.type, {}};
}
void add_sample(MetricFamily& family, double value, std::vector<ClientMetric::Label> labels) {
    ClientMetric metric;
    metric.label = std::move(labels);
    (family.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
    family.metric.push_back(std::move(metric));
}

/// By name, each once, since two samples of the same labels would make a server refuse all; those beyond the bound are
/// added up. Those that are captured from go first: a host that makes interfaces all day has many that are gone.
std::vector<ProgramFigures::Interface> shown(std::vector<ProgramFigures::Interface> interfaces) {
    std::stable_partition(interfaces.begin(), interfaces.end(), [](const auto& interface) { return interface.open; });
    std::vector<ProgramFigures::Interface> list;
    for (const auto& interface : interfaces) {
        std::string name = label_value(interface.name);
        const auto named = [&](const auto& known) { return known.name == name; };
        auto found = std::find_if(list.begin(), list.end(), named);
        if (found == list.end() && list.size() >= most_program_interfaces - 1) {
            name = other;
            found = std::find_if(list.begin(), list.end(), named);
        }
        if (found == list.end()) {
            list.push_back(interface);
            list.back().name = name;
            if (name == other) list.back().bits_per_sec.reset();
            continue;
        }
        found->open = found->open && interface.open;
        found->received_packets += interface.received_packets;
        found->kernel_dropped_packets += interface.kernel_dropped_packets;
        found->interface_dropped_packets += interface.interface_dropped_packets;
    }
    return list;
}

}  // namespace

std::vector<MetricFamily> families(const ProgramFigures& figures) {
    const ProgramTable& table = program_table();
    std::vector<MetricFamily> all;
    all.push_back(program_family(table.build));
    add_sample(all.back(), 1, {{"version", label_value(figures.version)}});
    for (const ProgramRow& row : table.program) {
        all.push_back(program_family(row.series));
        add_sample(all.back(), row.take(figures), {});
    }
    const auto interfaces = shown(figures.interfaces);
    for (const InterfaceRow& row : table.interfaces) {
        MetricFamily family = program_family(row.series);
        for (const auto& interface : interfaces)
            for (std::size_t i = 0; i < row.dimension.size(); ++i) {
                const auto value = row.take(interface, i);
                if (!value) continue;
                std::vector<ClientMetric::Label> labels{{"interface", interface.name}};
                if (!row.dimension.label.empty())
                    labels.push_back({std::string(row.dimension.label), std::string(row.dimension.values[i])});
                add_sample(family, *value, std::move(labels));
            }
        if (!family.metric.empty()) all.push_back(std::move(family));
    }
    return all;
}

std::string text(const std::vector<MetricFamily>& families) {
    return ::prometheus::TextSerializer().Serialize(families);
}

}  // namespace exporters::prometheus
