#pragma once
#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "metrics/answers/answer.h"

/// Snapshots made by hand: what an engine would have to find for an answer to be due.
namespace metrics {
inline void PrintTo(Verdict verdict, std::ostream* out) { *out << name_of(verdict); }
}  // namespace metrics

namespace why_test {

struct NoNames final : metrics::HostNames {
    std::string name(const metrics::Address&) const override { return {}; }
};

struct TwoNames final : metrics::HostNames {
    std::string name(const metrics::Address& address) const override {
        return address.octets[3] == 1 ? "server" : "client";
    }
};

inline metrics::Address ipv4(std::uint8_t last) {
    metrics::Address address;
    address.family = wire::AddressFamily::ipv4;
    address.octets[0] = 192;
    address.octets[2] = 2;
    address.octets[3] = last;
    return address;
}

/// A second of a healthy flow: 1000 WRITEs of 4 KiB in 4000 packets, ten outstanding, half of the time sending.
inline metrics::FlowSnapshot healthy(std::uint64_t id = 1, std::uint8_t from = 2, std::uint8_t to = 1) {
    metrics::FlowSnapshot flow;
    flow.id = id;
    flow.transport = wire::Transport::roce2;
    flow.service = metrics::Service::rc;
    flow.source = {ipv4(from), 0x12, {}};
    flow.destination = {ipv4(to), 0x11, {}};
    flow.vantage = metrics::Vantage::receiver;
    flow.first_ns = 1'000'000'000;
    flow.last_ns = 2'000'000'000;
    flow.packets = 4000;
    flow.wire_bytes = 4'400'000;
    flow.payload_bytes = 4'096'000;
    flow.retransmitted_packets = 0;
    flow.duplicate_packets = 0;
    flow.reordered_packets = 0;
    flow.missing_packets = 0;
    metrics::OperationFigures& writes = flow.operations[metrics::index_of(metrics::Operation::write)];
    writes.count = 1000;
    writes.bytes = 4'096'000;
    writes.latency_ns.record(100'000, 500);
    writes.latency_ns.record(120'000, 500);
    flow.messages_mean = 5;
    flow.messages_max = 10;
    flow.bytes_mean = 20'480;
    flow.bytes_max = 40'960;
    flow.round_trip_min_ns = 100'000;
    flow.state_ns[metrics::index_of(metrics::State::transmit_new)] = 500'000'000;
    flow.state_ns[metrics::index_of(metrics::State::application_in_flight)] = 500'000'000;
    return flow;
}

inline metrics::Snapshot snapshot_of(std::vector<metrics::FlowSnapshot> flows) {
    metrics::Snapshot snapshot;
    snapshot.flows = std::move(flows);
    snapshot.capture.packets = 4000;
    snapshot.capture.first_ns = 1'000'000'000;
    snapshot.capture.last_ns = 2'000'000'000;
    return snapshot;
}

inline void add_event(metrics::FlowSnapshot& flow, metrics::EventKind kind, std::vector<std::uint64_t> frames,
                      std::uint64_t count = 0, std::uint64_t value = 0) {
    if (count == 0) count = frames.size();
    flow.event_summaries.push_back({kind, count, std::move(frames), value, value});
}

inline std::vector<metrics::Answer> ask(const metrics::Snapshot& snapshot, const std::uint64_t* flow = nullptr) {
    return metrics::answer(snapshot, NoNames{}, flow);
}

/// "bandwidth:rnr", of all alarms, worst first.
inline std::vector<std::string> alarms(const std::vector<metrics::Answer>& answers) {
    std::vector<std::string> out;
    for (const metrics::Answer& answer : answers)
        if (answer.alarm)
            out.push_back(std::string(name_of(answer.question)) + ":" + std::string(name_of(answer.verdict)));
    return out;
}

inline const metrics::Answer& about(const std::vector<metrics::Answer>& answers, metrics::Question question) {
    return *std::find_if(answers.begin(), answers.end(),
                         [question](const metrics::Answer& answer) { return answer.question == question; });
}

inline const metrics::Evidence* evidence(const metrics::Answer& answer, const std::string& what) {
    for (const metrics::Evidence& each : answer.evidence)
        if (each.what == what) return &each;
    return nullptr;
}

inline void set_state(metrics::FlowSnapshot& flow, metrics::State state, std::uint64_t ns) {
    flow.state_ns[metrics::index_of(state)] = ns;
}

}  // namespace why_test
