// Counters from look to look: made up ones that wrap and are set back, and those that the lab's machines read from
// their kernels before and after each run (pcaps/*.json, counters_before and counters_after).
#include "observe/counter_watch.h"

#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "metrics/answers/counters.h"
#include "tests/support/pcaps.h"

namespace observe {
namespace {

using capture::counters::CounterReading;
using capture::counters::meaning_of;

/// A machine whose counters the test sets.
struct Machine {
    std::vector<CounterReading> readings;
    observe::DeviceResources resources = {};

    void set(const std::string& device, const std::string& name, std::uint64_t value) {
        for (CounterReading& one : readings)
            if (one.device == device && one.name == name) return void(one.value = value);
        readings.push_back({device, 1, name, value, meaning_of(name)});
    }
    observe::CounterWatch watch() {
        return observe::CounterWatch(
            {.counters = [this] { return readings; }, .resources = [this] { return resources; }});
    }
};

std::uint64_t value_of(const metrics::DeviceFigures& figures, const std::string& name) {
    for (const metrics::DeviceCounter& counter : figures.counters)
        if (counter.name == name) return counter.value;
    ADD_FAILURE() << "there is no " << name;
    return 0;
}

TEST(CounterWatch, counts_from_the_first_look_on) {
    Machine machine;
    machine.set("mlx5_0", "rp_cnp_handled", 1000);
    observe::CounterWatch watch = machine.watch();
    watch.look(5);
    EXPECT_EQ(value_of(watch.figures(), "rp_cnp_handled"), 0U);
    EXPECT_EQ(watch.figures().length_ns, 0U);
    machine.set("mlx5_0", "rp_cnp_handled", 1007);
    watch.look(1'000'000'005);
    EXPECT_EQ(value_of(watch.figures(), "rp_cnp_handled"), 7U);
    EXPECT_EQ(watch.figures().length_ns, 1'000'000'000U);
    EXPECT_EQ(watch.figures().counters[0].fact, wire::CounterFact::cnp_received);
    EXPECT_EQ(watch.figures().counters[0].unit, metrics::CounterUnit::times);
}

TEST(CounterWatch, wraps_resets_and_words) {
    Machine machine;
    machine.set("mlx5_0", "out_of_buffer", 4'294'967'290);  // 32 bits wide: six before it is full
    machine.set("mlx5_0", "port_xmit_data", 100);           // of four octets each
    machine.set("mlx5_0", "np_cnp_sent", 50);
    machine.readings.push_back(
        {"eth2", 0, "rx_prio3_pause_duration", 10, *capture::counters::meaning_of_ethernet("rx_prio3_pause_duration")});
    observe::CounterWatch watch = machine.watch();
    watch.look(0);
    machine.set("mlx5_0", "out_of_buffer", 4);
    machine.set("mlx5_0", "port_xmit_data", 350);
    machine.set("mlx5_0", "np_cnp_sent", 3);  // the driver was loaded again
    machine.set("eth2", "rx_prio3_pause_duration", 25);
    watch.look(1);
    EXPECT_EQ(value_of(watch.figures(), "out_of_buffer"), 10U);
    EXPECT_EQ(value_of(watch.figures(), "port_xmit_data"), 1000U) << "octets";
    EXPECT_EQ(value_of(watch.figures(), "np_cnp_sent"), 0U) << "how many there were before, nobody knows";
    EXPECT_EQ(value_of(watch.figures(), "rx_prio3_pause_duration"), 15'000U) << "nanoseconds";
    for (const auto& one : watch.figures().counters)
        if (one.device == "eth2") {
            EXPECT_EQ(one.priority, 3);
        }
    machine.set("mlx5_0", "np_cnp_sent", 9);
    watch.look(2);
    EXPECT_EQ(value_of(watch.figures(), "np_cnp_sent"), 6U) << "and from then on it counts";
}

TEST(CounterWatch, what_a_device_that_went_away_counted_stays) {
    Machine machine;
    machine.set("mlx5_0", "np_cnp_sent", 1);
    observe::CounterWatch watch = machine.watch();
    watch.look(0);
    machine.set("mlx5_0", "np_cnp_sent", 4);
    watch.look(1);
    machine.readings.clear();
    watch.look(2);
    EXPECT_EQ(value_of(watch.figures(), "np_cnp_sent"), 3U);
}

TEST(CounterWatch, resources_by_name) {
    Machine machine;
    machine.resources.devices = {{3, "rxe0", 1, {}, "roce"}};
    machine.resources.ports = {{3, "rxe0", 1, 4, "eth0"}};
    // QP 31 of rxe-trace-write-bw.json: RC, RTS, of ib_write_bw (pid 11156); QP 1: GSI of ib_core.
    machine.resources.queue_pairs = {{"rxe0", 1, 31, 19, 14'126'385, 15'336'915, 2, 3, 11'156, {}},
                                     {"rxe0", 1, 1, 0, 16, 0, 1, 3, 0, "ib_core"}};
    machine.resources.sets = {{"rxe0", 1, 5, 11'156, {31}, {{"rcvd_rnr_err", 2}}}};
    observe::CounterWatch watch = machine.watch();
    watch.look(0);
    machine.resources.sets[0].values[0].second = 6;
    watch.look(1);
    const metrics::DeviceFigures& figures = watch.figures();
    ASSERT_EQ(figures.ports.size(), 1U);
    EXPECT_EQ(figures.ports[0], (metrics::DevicePort{"rxe0", 1, "roce", "eth0", true}));
    ASSERT_EQ(figures.queue_pairs.size(), 2U);
    EXPECT_EQ(figures.queue_pairs[0].type, "RC");
    EXPECT_EQ(figures.queue_pairs[0].state, "RTS");
    EXPECT_EQ(figures.queue_pairs[0].process, 11'156U);
    EXPECT_EQ(figures.queue_pairs[1].type, "GSI");
    EXPECT_EQ(figures.queue_pairs[1].owner, "ib_core");
    ASSERT_EQ(figures.counters.size(), 1U);
    EXPECT_EQ(figures.counters[0].queue_pairs, std::vector<std::uint32_t>{31});
    EXPECT_EQ(figures.counters[0].value, 4U);
}

/// What a machine of the lab counted during a run.
metrics::DeviceFigures recorded(const std::string& capture, const std::string& node) {
    std::ifstream file(support::pcaps() + "/" + capture + ".json");
    const auto about = nlohmann::json::parse(file);
    Machine machine;
    observe::CounterWatch watch = machine.watch();
    for (const char* moment : {"counters_before", "counters_after"}) {
        for (const auto& [key, value] : about.at(moment).at(node).at("hw_counters").items()) {
            const std::size_t slash = key.find('/');
            machine.set(key.substr(0, slash), key.substr(slash + 1), value.get<std::uint64_t>());
        }
        watch.look(0);
    }
    return watch.figures();
}

struct NoNames final : metrics::HostNames {
    std::string name(const metrics::Address&) const override { return {}; }
};

/// The verdicts that alarm, by the counters of that machine alone, without a packet.
std::string alarms(const std::string& capture, const std::string& node) {
    std::string all;
    for (const metrics::Answer& answer : metrics::answer({}, NoNames(), recorded(capture, node)))
        if (answer.alarm) all += (all.empty() ? "" : " ") + std::string(name_of(answer.verdict));
    return all;
}

TEST(RecordedCounters, say_by_themselves_what_the_lab_did) {
    // What was done is in each file's name and JSON: B sends to A. netem drops or flips bits at B's egress or A's
    // ingress, or no receive is posted at A.
    EXPECT_EQ(alarms("rxe-loss1pct-send-bw", "A"), "loss_before_tap");
    EXPECT_EQ(alarms("rxe-loss1pct-send-bw", "B"), "loss_after_tap");
    EXPECT_EQ(alarms("rxe-rxdrop1pct-write-bw", "A"), "loss_before_tap");
    EXPECT_EQ(alarms("rxe-rxdrop1pct-write-bw", "B"), "loss_after_tap");
    EXPECT_EQ(alarms("rxe-corrupt-send-bw", "A"), "loss_before_tap");
    EXPECT_EQ(alarms("rxe-verbs-rnr", "A"), "rnr");
    EXPECT_EQ(alarms("rxe-verbs-rnr", "B"), "rnr");
    EXPECT_EQ(alarms("rxe-verbs-rnr-fail", "A"), "rnr");
    EXPECT_EQ(alarms("rxe-verbs-rnr-fail", "B"), "rnr");
    for (const char* healthy : {"rxe-write-bw-64k", "rxe-send-lat-64", "rxe-read-bw-64k", "rxe-rping"})
        for (const char* node : {"A", "B"}) EXPECT_EQ(alarms(healthy, node), "") << healthy << " " << node;
}

TEST(RecordedCounters, are_told_by_their_names) {
    for (const metrics::Answer& answer : metrics::answer({}, NoNames(), recorded("rxe-verbs-rnr-fail", "B")))
        if (answer.verdict == metrics::Verdict::rnr) {
            // rcvd_rnr_err 3, retry_rnr_exceeded_err 1, of 16 packets.
            ASSERT_GE(answer.evidence.size(), 2U);
            EXPECT_EQ(answer.evidence[0].what, "rcvd_rnr_err of rxe0 port 1 (RNR NAKs received)");
            EXPECT_EQ(answer.evidence[0].value, 3);
            EXPECT_EQ(answer.evidence[1].value, 1);
            return;
        }
    FAIL() << "no answer";
}

}  // namespace
}  // namespace observe
