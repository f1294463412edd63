/// The series of a reading of the InfiniBand subnet: every sample of a family has labels of its own, as Prometheus
/// requires.
#include "daemon/subnet_figures.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace service {
namespace {

using SampleLabels = std::map<std::string, std::string>;

/// An adapter with one port, which counts, and the port at the other end of its cable.
fabric::Node cabled_adapter(fabric::Guid guid, fabric::Guid peer) {
    fabric::CounterReading counters;
    counters.set(fabric::Counter::transmit_bytes, 1000, false);
    fabric::Port port;
    port.number = 1;
    port.state = fabric::PortState::active;
    port.physical = fabric::PhysicalState::link_up;
    port.peer = fabric::PortId{peer, 1};
    port.counters = counters;
    fabric::Node node;
    node.guid = guid;
    node.port_count = 1;
    node.ports.push_back(port);
    return node;
}

fabric::SubnetManager manager(fabric::Guid guid, fabric::ManagerState state) {
    fabric::SubnetManager made;
    made.port_guid = guid;
    made.state = state;
    return made;
}

SubnetPolling polling_of(SubnetReading reading) {
    SubnetPolling polling;
    polling.latest = std::make_shared<const SubnetReading>(std::move(reading));
    polling.readings = 1;
    polling.is_up = true;
    polling.max_ports = 100;
    return polling;
}

/// The labels of each sample of a family.
std::vector<SampleLabels> samples_of(const SubnetPolling& polling, std::string_view name) {
    std::vector<SampleLabels> found;
    for (const ::prometheus::MetricFamily& family : families(polling)) {
        if (family.name != name) continue;
        for (const auto& metric : family.metric) {
            SampleLabels& labels = found.emplace_back();
            for (const auto& label : metric.label) labels.emplace(label.name, label.value);
        }
    }
    return found;
}

TEST(SubnetFigures, a_port_that_is_cabled_to_itself_has_one_series) {
    SubnetReading reading;
    reading.subnet.add(cabled_adapter(1, 1));
    reading.subnet.add(cabled_adapter(2, 3));
    reading.subnet.add(cabled_adapter(3, 2));
    const SubnetPolling polling = polling_of(std::move(reading));
    const auto samples = samples_of(polling, "rdma_fabric_port_bytes_total");
    EXPECT_EQ(samples.size(), 3);
    EXPECT_EQ(std::set<SampleLabels>(samples.begin(), samples.end()).size(), samples.size());
}

TEST(SubnetFigures, the_master_has_a_series_among_many_managers) {
    SubnetReading reading;
    for (fabric::Guid guid = 1; guid <= 2 * most_managers; ++guid)
        reading.subnet.managers.push_back(manager(guid, fabric::ManagerState::standby));
    reading.subnet.managers.push_back(manager(100, fabric::ManagerState::master));
    const auto samples = samples_of(polling_of(std::move(reading)), "rdma_fabric_manager_priority");
    EXPECT_EQ(samples.size(), most_managers);
    EXPECT_EQ(std::ranges::count_if(samples, [](const SampleLabels& one) { return one.at("state") == "master"; }), 1);
}

}  // namespace
}  // namespace service
