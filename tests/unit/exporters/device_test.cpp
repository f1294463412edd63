// Counters of devices as JSON and for Prometheus; the figures are made up here, and sums written out.
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>

#include "exporters/device_json.h"
#include "exporters/prometheus/devices.h"

namespace exporters {
namespace {

using metrics::CounterUnit;
using metrics::DeviceCounter;
using metrics::DeviceFigures;
using wire::CounterFact;

DeviceFigures sample() {
    DeviceFigures figures;
    figures.length_ns = 2'000'000'000;
    figures.counters = {
        {"bnxt_re0", 1, "oos_drop_count", CounterFact::out_of_sequence, CounterUnit::times, -1, {}, 3},
        {"bnxt_re0", 1, "res_oos_drop_count", CounterFact::out_of_sequence, CounterUnit::times, -1, {}, 4},
        {"bnxt_re0", 1, "rx_bytes", CounterFact::octets_received, CounterUnit::octets, -1, {}, 4096},
        {"bnxt_re0", 1, "tx_pkts", CounterFact::packets_sent, CounterUnit::times, -1, {}, 7},
        {"bnxt_re0", 1, "active_qps", CounterFact::other, CounterUnit::times, -1, {}, 9},
        {"bnxt_re0", 1, "rnr_naks_rcvd", CounterFact::rnr_received, CounterUnit::times, -1, {17, 18}, 5},
        {"eth2", 0, "rx_prio3_pause", CounterFact::pause_received, CounterUnit::times, 3, {}, 12},
        {"eth2", 0, "tx_pause", CounterFact::pause_sent, CounterUnit::times, -1, {}, 2},
        {"eth2", 0, "rx_prio3_pause_duration", CounterFact::pause_received_time, CounterUnit::ns, 3, {}, 1'500'000'000},
        {"mlx5_0", 1, "port_xmit_wait", CounterFact::wait, CounterUnit::ticks, -1, {}, 100},
    };
    figures.ports = {{"bnxt_re0", 1, "roce", "eth2", true}, {"mlx5_0", 1, "ib", "", false}};
    figures.queue_pairs = {{"bnxt_re0", 1, 17, 33, "RC", "RTS", 4711, ""},
                           {"bnxt_re0", 1, 18, 34, "RC", "RTS", 4711, ""},
                           {"bnxt_re0", 1, 1, 0, "GSI", "RTS", 0, "ib_core"}};
    figures.queue_pairs_left_out = 2;
    return figures;
}

/// "rdma_device_packets_total device=bnxt_re0 direction=transmit port=1" -> 7
std::map<std::string, double> samples(const DeviceFigures& figures) {
    std::map<std::string, double> out;
    for (const auto& family : prometheus::families(figures))
        for (const auto& metric : family.metric) {
            std::map<std::string, std::string> labels;
            for (const auto& label : metric.label) labels[label.name] = label.value;
            std::string key = family.name;
            for (const auto& [name, value] : labels) key += " " + name + "=" + value;
            EXPECT_FALSE(out.contains(key)) << key << " twice";
            out[key] = family.type == ::prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value;
        }
    return out;
}

TEST(DeviceJson, is_read_as_it_was_written) {
    const DeviceFigures before = sample();
    const auto after = parse_device_json(device_json(before));
    ASSERT_TRUE(after.ok()) << after.error().text();
    EXPECT_EQ(*after, before);
    const auto empty = parse_device_json(device_json({}));
    ASSERT_TRUE(empty.ok());
    EXPECT_TRUE(empty->empty());
}

TEST(DeviceJson, has_null_for_what_is_not_known) {
    const auto all = nlohmann::json::parse(device_json(sample()));
    EXPECT_TRUE(all["counters"][4]["fact"].is_null());
    EXPECT_EQ(all["counters"][0]["fact"], "out_of_sequence");
    EXPECT_TRUE(all["counters"][6]["port"].is_null());
    EXPECT_EQ(all["counters"][6]["priority"], 3);
    EXPECT_TRUE(all["counters"][7]["priority"].is_null());
    EXPECT_EQ(all["counters"][5]["queue_pairs"], nlohmann::json::array({17, 18}));
    EXPECT_FALSE(all["counters"][0].contains("queue_pairs"));
    EXPECT_TRUE(all["queue_pairs"][2]["pid"].is_null());
    EXPECT_EQ(all["queue_pairs"][2]["owner"], "ib_core");
}

TEST(DeviceJson, names_of_a_later_version_are_unknown) {
    const auto read = parse_device_json(
        R"({"counters":[{"device":"x","counter":"y","fact":"flux","unit":"litres","value":2},
                        {"device":"x","counter":"z","fact":"cnp_sent","unit":"times","value":3}]})");
    ASSERT_TRUE(read.ok()) << read.error().text();
    ASSERT_EQ(read->counters.size(), 2U);
    EXPECT_EQ(read->counters[0].fact, CounterFact::other);
    EXPECT_EQ(read->counters[0].unit, CounterUnit::unknown);
    EXPECT_EQ(read->counters[0].value, 2U);
    EXPECT_EQ(read->counters[1].fact, CounterFact::cnp_sent);
    EXPECT_EQ(read->counters[1].unit, CounterUnit::times);
}

TEST(DeviceJson, a_file_has_them_by_themselves_or_in_what_flows_printed) {
    const std::string plain = device_json(sample());
    for (const std::string& text :
         {plain, "{\"flows\":[],\"devices\":" + plain + "}", "{\"version\":1,\"ok\":true,\"result\":" + plain + "}"}) {
        const auto read = parse_device_document(text);
        ASSERT_TRUE(read.ok()) << read.error().text();
        EXPECT_EQ(*read, sample());
    }
}

TEST(DeviceJson, what_is_none_is_refused_with_the_reason) {
    for (const char* text :
         {"", "[", "7", "{}", "{\"counters\":7}", "{\"counters\":[7]}", "{\"counters\":[{\"device\":\"x\"}]}",
          "{\"counters\":[{\"device\":1,\"counter\":\"y\",\"value\":2}]}",
          "{\"counters\":[{\"device\":\"x\",\"counter\":\"y\",\"value\":\"2\"}]}", "{\"counters\":[],\"ports\":{}}",
          "{\"counters\":[],\"queue_pairs\":[{\"device\":\"x\",\"qpn\":\"1\"}]}"}) {
        const auto read = parse_device_document(text);
        ASSERT_FALSE(read.ok()) << text;
        EXPECT_FALSE(read.error().message.empty());
    }
}

TEST(DeviceSeries, aliases_are_one_fact_and_units_are_base_units) {
    const auto all = samples(sample());
    const std::map<std::string, double> expected{
        {"rdma_device_bytes_total device=bnxt_re0 direction=receive port=1", 4096},
        {"rdma_device_packets_total device=bnxt_re0 direction=transmit port=1", 7},
        {"rdma_device_pause_frames_total device=eth2 direction=receive priority=3", 12},
        {"rdma_device_pause_frames_total device=eth2 direction=transmit priority=all", 2},
        {"rdma_device_pause_seconds_total device=eth2 direction=receive priority=3", 1.5},
        {"rdma_device_events_total device=bnxt_re0 event=out_of_sequence port=1", 3 + 4},
        {"rdma_device_other_total counter=active_qps device=bnxt_re0 port=1", 9},
        {"rdma_device_other_total counter=port_xmit_wait device=mlx5_0 port=1", 100},
        {"rdma_device_port_active device=bnxt_re0 interface=eth2 port=1 protocol=roce", 1},
        {"rdma_device_port_active device=mlx5_0 interface= port=1 protocol=ib", 0},
        {"rdma_device_queue_pairs device=bnxt_re0 state=RTS type=RC", 2},
        {"rdma_device_queue_pairs device=bnxt_re0 state=RTS type=GSI", 1},
        {"rdmascope_devices_truncated", 0},
    };
    EXPECT_EQ(all, expected);
    EXPECT_TRUE(samples({}).empty());
}

TEST(DeviceSeries, every_metric_is_declared_with_its_labels) {
    std::map<std::string, std::vector<std::string_view>> declared;
    for (const auto& series : prometheus::device_series()) declared[std::string(series.name)] = series.labels;
    const auto families = prometheus::families(sample());
    EXPECT_EQ(families.size(), declared.size()) << "what no sample shows, nobody tried";
    for (const auto& family : families) {
        ASSERT_TRUE(declared.contains(family.name)) << family.name;
        for (const auto& metric : family.metric) {
            ASSERT_EQ(metric.label.size(), declared[family.name].size());
            for (std::size_t i = 0; i < metric.label.size(); ++i)
                EXPECT_EQ(metric.label[i].name, declared[family.name][i]);
        }
    }
}

TEST(DeviceSeries, are_bounded) {
    DeviceFigures many;
    for (int device = 0; device < 100; ++device)
        for (int counter = 0; counter < 600; ++counter)
            many.counters.push_back({"dev" + std::to_string(device),
                                     1,
                                     "c" + std::to_string(counter),
                                     CounterFact::other,
                                     CounterUnit::times,
                                     -1,
                                     {},
                                     1});
    const auto all = samples(many);
    EXPECT_EQ(all.size(), prometheus::most_devices * prometheus::most_samples_of_device + 1);
    EXPECT_EQ(all.at("rdmascope_devices_truncated"), 100 - 32);
}

}  // namespace
}  // namespace exporters
