// What counters mean: the lab's recorded trees of rxe before and after, and what the drivers' sources say by hand.
#include "capture/counters/meaning.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "../support.h"
#include "capture/counters/device_counters.h"
#include "tests/support/pcaps.h"

namespace capture::counters {
namespace {

TEST(CounterMeaning, one_fact_by_the_names_of_several_drivers) {
    for (const char* name : {"rp_cnp_handled", "rx_cnp_pkts", "cnpHandled"})
        EXPECT_EQ(meaning_of(name).fact, Fact::cnp_received) << name;
    for (const char* name : {"np_cnp_sent", "tx_cnp_pkts", "cnpSent"})
        EXPECT_EQ(meaning_of(name).fact, Fact::cnp_sent) << name;
    for (const char* name : {"np_ecn_marked_roce_packets", "rx_ecn_marked_pkts", "RxECNMrkd"})
        EXPECT_EQ(meaning_of(name).fact, Fact::ecn_marked) << name;
    for (const char* name : {"rnr_nak_retry_err", "rnr_naks_rcvd", "rcvd_rnr_err"})
        EXPECT_EQ(meaning_of(name).fact, Fact::rnr_received) << name;
    for (const char* name : {"packet_seq_err", "seq_err_naks_rcvd", "rcvd_seq_err"})
        EXPECT_EQ(meaning_of(name).fact, Fact::sequence_naks) << name;
    EXPECT_EQ(meaning_of("nobody_has_this"), Meaning());
    EXPECT_EQ(name_of(meaning_of("out_of_buffer").fact), "out_of_buffer");
    EXPECT_EQ(name_of(Fact::link_downed), "link_downed");
}

TEST(CounterMeaning, units) {
    EXPECT_EQ(octets_or_times(25, meaning_of("port_xmit_data")), 100U) << "words of four octets";
    EXPECT_EQ(octets_or_times(25, meaning_of("tx_bytes")), 25U);
    EXPECT_EQ(meaning_of("port_xmit_wait").unit, Unit::ticks);
    EXPECT_EQ(meaning_of_ethernet("rx_prio3_pause_duration")->unit, Unit::microseconds);
}

TEST(CounterMeaning, priorities_of_pause_frames) {
    const auto rows = std::map<std::string, std::pair<Fact, int>>{
        {"rx_prio3_pause", {Fact::pause_received, 3}},
        {"tx_prio0_pause_duration", {Fact::pause_sent_time, 0}},
        {"rx_pause_ctrl_phy", {Fact::pause_received, 255}},
        {"tx_priority_5_xoff.nic", {Fact::pause_sent, 5}},
        {"rx_pfc_ena_frames_pri7", {Fact::pause_received, 7}},
        {"pfc_pri2_rx_duration_us", {Fact::pause_received_time, 2}},
    };
    for (const auto& [name, expected] : rows) {
        const auto meaning = meaning_of_ethernet(name);
        ASSERT_TRUE(meaning.has_value()) << name;
        EXPECT_EQ(meaning->fact, expected.first) << name;
        EXPECT_EQ(meaning->priority, expected.second) << name;
    }
    for (const char* none : {"rx_prio8_pause", "rx_prio33_pause", "rx_prio_pause", "rx_prioX_pause", "rx_packets", ""})
        EXPECT_FALSE(meaning_of_ethernet(none)) << none;
}

TEST(CounterGrowth, wraps_saturates_and_is_set_back) {
    const Meaning q = meaning_of("out_of_sequence");
    EXPECT_EQ(growth(5, 5, q), 0U);
    EXPECT_EQ(growth(5, 12, q), 7U);
    EXPECT_EQ(growth(0xfffffffe, 3, q), 5U) << "...fe, ff, 0, 1, 2, 3";
    EXPECT_EQ(growth(1000, 0, q), std::nullopt) << "a device that began anew, not four thousand million losses";
    const Meaning wide = meaning_of("np_cnp_sent");
    EXPECT_EQ(growth(0xfffffffe, 3, wide), std::nullopt);
    EXPECT_EQ(growth(~std::uint64_t{0}, 1, wide), 2U);
    const Meaning pma = meaning_of("port_rcv_errors");
    EXPECT_EQ(growth(65535, 65535, pma), 0U);
    EXPECT_EQ(growth(65535, 2, pma), std::nullopt) << "somebody reset it";
}

/// Puts one side's counters of a recorded run under a folder as sysfs has them: port 1's hw_counters.
void stage(const std::string& root, const nlohmann::json& counters) {
    std::filesystem::remove_all(root);
    for (const auto& [name, value] : counters.items()) {  // "rxe0/sent_pkts"
        const std::size_t slash = name.find('/');
        const std::string folder = root + "/" + name.substr(0, slash) + "/ports/1/hw_counters";
        std::filesystem::create_directories(folder);
        std::ofstream(folder + name.substr(slash)) << value << "\n";
    }
}

TEST(CounterGrowth, of_recorded_runs_is_what_was_noted_beside_them) {
    const test::Directory directory;
    const std::string root = directory / "infiniband";
    std::size_t runs = 0;
    std::size_t grown = 0;
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(support::pcaps())) {
        if (entry.path().extension() != ".json" || !entry.path().filename().string().starts_with("rxe-")) continue;
        const nlohmann::json run = nlohmann::json::parse(std::ifstream(entry.path()));
        if (!run.contains("counters_delta")) continue;
        ++runs;
        for (const auto& [side, delta] : run["counters_delta"].items()) {
            stage(root, run["counters_before"][side]["hw_counters"]);
            const auto before = read_device_counters(root);
            stage(root, run["counters_after"][side]["hw_counters"]);
            const auto after = read_device_counters(root);
            ASSERT_EQ(before.size(), after.size()) << entry.path();
            for (std::size_t i = 0; i < before.size(); ++i) {
                const auto more = growth(before[i].value, after[i].value, meaning_of(after[i].name));
                const std::string key = after[i].device + "/" + after[i].name;
                ASSERT_TRUE(more.has_value()) << entry.path() << key;
                // The note leaves out what did not change.
                EXPECT_EQ(*more, delta["hw_counters"].value(key, std::uint64_t{0})) << entry.path() << key;
                grown += *more > 0 ? 1 : 0;
                if (meaning_of(after[i].name).fact != Fact::other) names.insert(after[i].name);
            }
        }
    }
    EXPECT_GT(runs, 30U);
    EXPECT_GT(grown, 100U);
    // All that rxe counts and a verdict could ask for.
    EXPECT_EQ(names,
              (std::set<std::string>{"completer_retry_err", "duplicate_request", "link_downed", "out_of_seq_request",
                                     "rcvd_pkts", "rcvd_rnr_err", "rcvd_seq_err", "retry_exceeded_err",
                                     "retry_rnr_exceeded_err", "send_rnr_err", "sent_pkts"}));
}

TEST(CounterMeaning, of_rnr_is_what_the_run_was_about) {
    // rxe-verbs-rnr: B sends to A, which had no receive posted once.
    const nlohmann::json run = nlohmann::json::parse(std::ifstream(support::pcaps() + "/rxe-verbs-rnr.json"));
    std::map<std::string, std::map<Fact, std::uint64_t>> facts;
    for (const auto& [side, delta] : run["counters_delta"].items())
        for (const auto& [name, value] : delta["hw_counters"].items())
            facts[side][meaning_of(name.substr(name.find('/') + 1)).fact] += value.get<std::uint64_t>();
    EXPECT_EQ(facts["A"][Fact::out_of_buffer], 1U);
    EXPECT_EQ(facts["B"][Fact::rnr_received], 1U);
    EXPECT_EQ(facts["A"][Fact::packets_sent], facts["B"][Fact::packets_received]);
    EXPECT_EQ(facts["B"][Fact::packets_sent], facts["A"][Fact::packets_received]);
}

}  // namespace
}  // namespace capture::counters
