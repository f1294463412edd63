#pragma once
#include <string>

#include "exporters/flow_fields.h"
#include "metrics/figures/snapshot.h"

namespace exporters::test {

inline metrics::Address ipv4(std::uint8_t last) {
    metrics::Address address;
    address.family = wire::AddressFamily::ipv4;
    address.octets = {192, 0, 2, last};
    return address;
}

/// Knows 192.0.2.1 alone, by a name that has to be quoted everywhere.
struct OneName final : metrics::HostNames {
    std::string name(const metrics::Address& address) const override { return address == ipv4(1) ? "a \"b\", c" : ""; }
};

/// 100 WRITEs of 1000 octets, latencies 1 to 100 us, over one second.
inline metrics::FlowSnapshot write_flow() {
    metrics::FlowSnapshot flow;
    flow.id = 7;
    flow.transport = wire::Transport::roce2;
    flow.service = metrics::Service::rc;
    flow.source.address = ipv4(1);
    flow.destination.address = ipv4(2);
    flow.destination.qpn = 0x11;
    flow.first_ns = 1'000'000'000;
    flow.last_ns = 2'000'000'000;
    flow.packets = 100;
    flow.wire_bytes = 106'600;
    flow.payload_bytes = 100'000;
    flow.retransmitted_packets = 3;
    auto& write = flow.operations[metrics::index_of(metrics::Operation::write)];
    write.count = 100;
    write.bytes = 100'000;
    for (std::uint64_t i = 1; i <= 100; ++i) write.latency_ns.record(i * 1000);
    for (int i = 0; i < 100; ++i) flow.message_bytes.record(1000);
    flow.messages_mean = 2.5;
    flow.messages_max = 16;
    flow.naks[0] = 2;
    flow.rnr_naks = 1;
    flow.state_ns[metrics::index_of(metrics::State::ack_window)] = 750'000'000;
    flow.state_ns[metrics::index_of(metrics::State::transmit_new)] = 250'000'000;
    flow.event_summaries.push_back({metrics::EventKind::nak, 2, {12, 40}, 0, 0});
    return flow;
}

/// An iWARP flow of which little is known: no message, no peer, no time.
inline metrics::FlowSnapshot bare_tcp_flow() {
    metrics::FlowSnapshot flow;
    flow.id = 9;
    flow.transport = wire::Transport::iwarp;
    flow.source.address = ipv4(2);
    flow.source.port = 7174;
    flow.destination.address = ipv4(1);
    flow.destination.port = 40'000;
    flow.packets = 1;
    flow.first_ns = flow.last_ns = 5;
    flow.tcp.emplace().segments = 1;
    return flow;
}

}  // namespace exporters::test
