// What `why` makes of the counters of devices, which the test makes up. tests/unit/capture/counters/ tests what a
// driver's counter means, tests/unit/observe/ how counters are read.
#include "metrics/answers/counters.h"

#include <gtest/gtest.h>

#include "support.h"

namespace {

using namespace metrics;
using wire::CounterFact;

DeviceCounter counter(std::string name, CounterFact fact, std::uint64_t value, int priority = -1) {
    DeviceCounter out;
    out.device = priority >= 0 ? "eth2" : "mlx5_0";
    out.port = priority >= 0 ? 0 : 1;
    out.name = std::move(name);
    out.fact = fact;
    out.unit = CounterUnit::times;
    out.priority = priority;
    out.value = value;
    return out;
}

/// A million packets of the device, and these counters.
DeviceFigures devices(std::vector<DeviceCounter> counters) {
    DeviceFigures figures;
    figures.length_ns = 1'000'000'000;
    figures.counters = std::move(counters);
    figures.counters.push_back(counter("rx_packets", CounterFact::packets_received, 900'000));
    figures.counters.push_back(counter("tx_packets", CounterFact::packets_sent, 100'000));
    return figures;
}

Snapshot without_alarms() {
    Snapshot snapshot;
    snapshot.flows.push_back(why_test::healthy());
    return snapshot;
}

std::vector<Answer> asked(Question question, const Snapshot& snapshot, const DeviceFigures& figures) {
    std::vector<Answer> answers = answer(snapshot, why_test::TwoNames(), figures);
    std::erase_if(answers, [&](const Answer& one) { return one.question != question; });
    return answers;
}

struct Case {
    const char* driver;  ///< the counter's name
    CounterFact fact;
    std::uint64_t enough;  ///< of a million packets: docs/why.md, "Thresholds"
    Question question;
    Verdict verdict;
};

constexpr Case cases[] = {
    {"out_of_sequence", CounterFact::out_of_sequence, 100, Question::bandwidth, Verdict::loss_before_tap},
    {"implied_nak_seq_err", CounterFact::implied_naks, 100, Question::bandwidth, Verdict::loss_before_tap},
    {"rx_discards_phy", CounterFact::discards_received, 100, Question::bandwidth, Verdict::loss_before_tap},
    {"packet_seq_err", CounterFact::sequence_naks, 100, Question::bandwidth, Verdict::loss_after_tap},
    {"local_ack_timeout_err", CounterFact::ack_timeouts, 100, Question::bandwidth, Verdict::timeout_recovery},
    {"max_retry_exceeded", CounterFact::retries_exceeded, 1, Question::bandwidth, Verdict::timeout_recovery},
    {"rnr_nak_retry_err", CounterFact::rnr_received, 1, Question::bandwidth, Verdict::rnr},
    {"out_of_buffer", CounterFact::out_of_buffer, 1, Question::bandwidth, Verdict::rnr},
    {"rx_icrc_encapsulated", CounterFact::icrc_errors, 100, Question::bandwidth, Verdict::corruption},
    {"np_ecn_marked_roce_packets", CounterFact::ecn_marked, 1000, Question::congestion, Verdict::marked},
    {"np_cnp_sent", CounterFact::cnp_sent, 1, Question::congestion, Verdict::throttled},
    {"rp_cnp_handled", CounterFact::cnp_received, 1, Question::congestion, Verdict::throttled},
    {"rx_pause_ctrl_phy", CounterFact::pause_received, 1, Question::congestion, Verdict::pause},
    {"tx_pause_ctrl_phy", CounterFact::pause_sent, 1, Question::congestion, Verdict::pause},
};

TEST(CountersInWhy, APacketThatNobodySawIsKnownFromThem) {
    for (const Case& one : cases) {
        SCOPED_TRACE(one.driver);
        const auto found = asked(one.question, without_alarms(), devices({counter(one.driver, one.fact, one.enough)}));
        ASSERT_EQ(found.size(), 1U) << "those that alarm, and not the one that describes besides";
        EXPECT_EQ(found[0].verdict, one.verdict);
        EXPECT_TRUE(found[0].alarm);
        ASSERT_FALSE(found[0].evidence.empty());
        EXPECT_TRUE(found[0].evidence[0].what.starts_with(std::string(one.driver) + " of mlx5_0 port 1 ("))
            << found[0].evidence[0].what;
        EXPECT_EQ(found[0].evidence[0].value, static_cast<double>(one.enough));
        EXPECT_NE(found[0].summary.find(one.driver), std::string::npos) << found[0].summary;
        EXPECT_FALSE(found[0].advice.empty());
    }
}

TEST(CountersInWhy, TooFewAreNoAlarm) {
    for (const Case& one : cases) {
        SCOPED_TRACE(one.driver);
        for (const Answer& answer :
             asked(one.question, without_alarms(), devices({counter(one.driver, one.fact, one.enough - 1)})))
            EXPECT_FALSE(answer.alarm) << name_of(answer.verdict);
    }
}

TEST(CountersInWhy, WhatPacketsShowTooHasThemAsEvidence) {
    Snapshot snapshot = without_alarms();
    FlowSnapshot& flow = snapshot.flows[0];
    flow.rnr_naks = 4;
    flow.confidence = 0.5;
    flow.event_summaries.push_back({EventKind::rnr_nak, 4, {17}, 655'360, 4 * 655'360});
    const auto without = asked(Question::bandwidth, snapshot, {});
    const auto with =
        asked(Question::bandwidth, snapshot, devices({counter("rnr_nak_retry_err", CounterFact::rnr_received, 4)}));
    ASSERT_FALSE(without.empty());
    ASSERT_EQ(without[0].verdict, Verdict::rnr);
    ASSERT_EQ(with.size(), without.size());
    EXPECT_EQ(with[0].verdict, Verdict::rnr);
    EXPECT_EQ(with[0].summary, without[0].summary);
    EXPECT_EQ(with[0].evidence.back().what, "rnr_nak_retry_err of mlx5_0 port 1 (RNR NAKs received)");
    EXPECT_EQ(with[0].evidence.back().value, 4);
    EXPECT_DOUBLE_EQ(without[0].confidence, 0.5);
    EXPECT_DOUBLE_EQ(with[0].confidence, 0.75) << "half of the doubt is left";
}

TEST(CountersInWhy, PausesTellTheirPriorityAndTheirTime) {
    DeviceCounter time = counter("rx_prio3_pause_duration", CounterFact::pause_received_time, 5'000'000, 3);
    time.unit = CounterUnit::ns;
    const auto found = asked(Question::congestion, without_alarms(),
                             devices({counter("rx_prio3_pause", CounterFact::pause_received, 12, 3), time}));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].verdict, Verdict::pause);
    ASSERT_EQ(found[0].evidence.size(), 2U);
    EXPECT_EQ(found[0].evidence[0].what, "rx_prio3_pause of eth2 (PAUSE frames received, priority 3)");
    EXPECT_EQ(found[0].evidence[1].value, 5'000'000);
    EXPECT_EQ(found[0].evidence[1].unit, EvidenceUnit::ns);
}

TEST(CountersInWhy, WhatFollowsAnRnrNakWasNotLost) {
    // A receiver without receives refuses what follows the message that met none, too: PSNs out of sequence.
    const auto found = asked(Question::bandwidth, without_alarms(),
                             devices({counter("send_rnr_err", CounterFact::out_of_buffer, 300),
                                      counter("out_of_seq_request", CounterFact::out_of_sequence, 300)}));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].verdict, Verdict::rnr);
}

TEST(CountersInWhy, CacheMissesAreSaidWhereTheCacheIsAskedAbout) {
    const auto found = asked(Question::qp_cache, without_alarms(),
                             devices({counter("icm_cache_miss", CounterFact::cache_misses, 123'456)}));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_FALSE(found[0].alarm);
    EXPECT_EQ(found[0].evidence.back().what, "icm_cache_miss of mlx5_0 port 1 (misses of its caches)");
}

TEST(CountersInWhy, TheySayNothingOfOneFlow) {
    const std::uint64_t flow = 1;
    for (const Answer& one : answer(without_alarms(), why_test::TwoNames(),
                                    devices({counter("np_cnp_sent", CounterFact::cnp_sent, 1000)}), &flow))
        EXPECT_FALSE(one.alarm) << name_of(one.verdict);
}

TEST(CountersInWhy, SetsOfSomeQueuePairsAreNotCountedTwice) {
    DeviceCounter of_some = counter("np_cnp_sent", CounterFact::cnp_sent, 1000);
    of_some.queue_pairs = {17, 18};
    for (const Answer& one : asked(Question::congestion, without_alarms(), devices({of_some})))
        EXPECT_FALSE(one.alarm) << name_of(one.verdict);
}

TEST(CountersInWhy, WithoutPacketsTheyAreAllThereIs) {
    const auto found =
        asked(Question::bandwidth, {}, devices({counter("packet_seq_err", CounterFact::sequence_naks, 5000)}));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].verdict, Verdict::loss_after_tap);
    EXPECT_TRUE(found[0].flows.empty());
}

TEST(CountersInWhy, ADifferenceIsWhatWasCountedInBetween) {
    DeviceFigures earlier = devices({counter("np_cnp_sent", CounterFact::cnp_sent, 10)});
    DeviceFigures later =
        devices({counter("np_cnp_sent", CounterFact::cnp_sent, 25), counter("new", CounterFact::other, 3)});
    later.length_ns = 3'000'000'000;
    const DeviceFigures between = difference(earlier, later);
    EXPECT_EQ(between.length_ns, 2'000'000'000U);
    ASSERT_EQ(between.counters.size(), 4U);
    EXPECT_EQ(between.counters[0].value, 15U);
    EXPECT_EQ(between.counters[1].value, 3U) << "it was not there before";
    EXPECT_EQ(between.counters[2].value, 0U);
    EXPECT_EQ(difference(later, earlier).counters[0].value, 10U) << "somebody began anew";
}

}  // namespace
