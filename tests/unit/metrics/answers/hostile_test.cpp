// Whatever figures a damaged capture gives: answers are whole, and numbers are numbers.
#include <cmath>
#include <gtest/gtest.h>
#include <random>

#include "support.h"

namespace {

using namespace why_test;

TEST(Hostile, AnyFiguresAreAnswered) {
    std::mt19937_64 random(7);
    const auto any = [&random] { return random() >> (random() % 64); };
    for (unsigned round = 0; round < 300; ++round) {
        std::vector<metrics::FlowSnapshot> flows;
        for (std::uint64_t id = 1; id <= 6; ++id) {
            auto flow = healthy(id, static_cast<std::uint8_t>(1 + id % 2), static_cast<std::uint8_t>(2 - id % 2));
            flow.transport = static_cast<wire::Transport>(any() % 4);
            flow.vantage = static_cast<metrics::Vantage>(any() % 4);
            flow.reverse = any() % 8;  // some of them are not there
            for (auto* counter : {&flow.packets, &flow.wire_bytes, &flow.payload_bytes, &flow.timeouts, &flow.rnr_naks,
                                  &flow.ecn_ce_packets, &flow.cnp_packets, &flow.icrc_bad, &flow.terminates,
                                  &flow.messages_max, &flow.bytes_max, &flow.queueing_ns, &flow.state_unsure_ns})
                *counter = any();
            for (auto* counter : {&flow.retransmitted_packets, &flow.missing_packets, &flow.reordered_packets,
                                  &flow.duplicate_packets, &flow.round_trip_min_ns, &flow.link_bits_per_sec})
                *counter = any() % 3 == 0 ? std::nullopt : std::optional(any());
            for (auto& time : flow.state_ns) time = any() >> 5;
            for (auto& nak : flow.naks) nak = any() % 3;
            auto& operation = flow.operations[any() % metrics::operation_count];
            operation.count = any();
            operation.bytes = any();
            operation.latency_ns.record(any() >> 1, 1 + any() % 100);
            add_event(flow, static_cast<metrics::EventKind>(any() % metrics::event_kind_count), {1 + any() % 100},
                      any(), any());
            flow.last_ns = flow.first_ns + static_cast<std::int64_t>(any() >> 2);
            flows.push_back(flow);
        }
        auto snapshot = snapshot_of(std::move(flows));
        snapshot.capture.first_ns = INT64_MIN;
        snapshot.capture.last_ns = INT64_MAX;
        metrics::ConnectionAttempt attempt;
        attempt.request_ns = INT64_MIN;
        attempt.outcome = metrics::AttemptOutcome::unanswered;
        snapshot.attempts.push_back(attempt);
        metrics::PauseSnapshot pause;
        pause.pause_frames = any();
        pause.priority_quanta[any() % 8] = any();
        snapshot.pauses.push_back(pause);
        metrics::HostSnapshot host;
        host.address = ipv4(1);
        host.received_requests = 1;
        host.queue_pairs.distinct = any();
        host.link_bits_per_sec = any();
        host.incast_senders_max = any();
        snapshot.hosts.push_back(host);
        for (const auto& answer : ask(snapshot)) {
            EXPECT_TRUE(answer.severity >= 0 && answer.severity <= 1) << answer.severity;
            EXPECT_TRUE(answer.confidence >= 0 && answer.confidence <= 1) << answer.confidence;
            EXPECT_FALSE(answer.summary.empty());
            EXPECT_FALSE(answer.advice.empty());
            for (const auto& evidence : answer.evidence) EXPECT_TRUE(std::isfinite(evidence.value)) << evidence.what;
        }
    }
}

}  // namespace
