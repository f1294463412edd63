/// Whom a CNP slows down, where nothing acknowledges what it is about: it names the QPN of the sender and no service.
#include <gtest/gtest.h>
#include <vector>

#include "metrics/measure/engine/analyzer.h"
#include "wire/bth_opcode.h"
#include "wire/frame.h"

namespace {

using namespace metrics;

constexpr std::uint8_t ud_send_only = 0x64;
constexpr std::uint8_t uc_send_only = 0x24;
constexpr std::uint8_t rc_acknowledge = 0x11;
constexpr std::uint8_t xrc_acknowledge = 0xb1;
constexpr std::uint8_t cnp = 0x81;
constexpr std::uint32_t cnp_interval = 10;

/// Frames between hosts 192.0.2.N, a microsecond apart.
class Wire {
public:
    explicit Wire(unsigned threads = 1, std::size_t max_flows = 1000) : analyzer_(options(threads, max_flows)) {}

    void send(std::uint8_t from, std::uint8_t to, std::uint8_t opcode, std::uint32_t qpn, std::uint32_t source_qp = 0,
              bool marked = false) {
        const std::uint32_t headers = wire::bth_opcode(opcode).header_octets;
        const std::uint32_t payload = opcode == cnp ? 16 : wire::bth_opcode(opcode).has_payload ? 100 : 0;
        const std::size_t udp_octets = 8 + 12 + headers + payload + 4;
        std::vector<std::byte> octets(14 + 20 + udp_octets);
        const auto put = [&octets](std::size_t at, std::uint64_t value, unsigned size) {
            for (unsigned i = 0; i < size; ++i) octets[at + i] = static_cast<std::byte>(value >> 8 * (size - 1 - i));
        };
        put(12, 0x0800, 2);
        put(14, 0x4500 | (marked ? 3u : 2u), 2);
        put(16, 20 + udp_octets, 2);
        put(18, frames_, 2);
        put(22, 64, 1);
        put(23, 17, 1);
        put(26, 0xc0000200 | from, 4);
        put(30, 0xc0000200 | to, 4);
        put(34, 50000, 2);
        put(36, 4791, 2);
        put(38, udp_octets, 2);
        put(42, opcode, 1);
        put(44, 0xffff, 2);
        put(46, qpn, 4);
        put(50, opcode == cnp ? 0 : frames_ & 0xffffff, 4);
        if (opcode == ud_send_only) put(58, source_qp, 4);
        wire::Frame frame;
        frame.bytes = octets;
        frame.wire_length = static_cast<std::uint32_t>(octets.size());
        frame.time_ns = 1'000'000'000 + 1000 * static_cast<std::int64_t>(frames_);
        frame.number = ++frames_;
        analyzer_.feed({&frame, 1});
    }
    /// 60 datagrams from QP 0x11 of host 1, of which every tenth is marked and answered by a CNP.
    void marked_datagrams(std::uint8_t opcode, std::uint32_t destination_qp, std::uint8_t to = 2) {
        for (std::uint32_t i = 0; i < 60; ++i) {
            const bool marked = i % cnp_interval == 0;
            send(1, to, opcode, destination_qp, 0x11, marked);
            if (marked) send(to, 1, cnp, 0x11);
        }
    }
    Snapshot snapshot() {
        analyzer_.finish();
        return analyzer_.snapshot();
    }

private:
    static AnalyzerOptions options(unsigned threads, std::size_t max_flows) {
        AnalyzerOptions out;
        out.threads = threads;
        out.engine.max_flows = max_flows;
        out.dissector.parse.verify_crc = false;  // ICRCs are zeros
        return out;
    }
    Analyzer analyzer_;
    std::uint64_t frames_ = 0;
};

const FlowSnapshot* flow_of(const Snapshot& snapshot, std::uint8_t from, std::uint8_t to, std::uint32_t qpn) {
    for (const FlowSnapshot& flow : snapshot.flows)
        if (flow.source.address.octets[3] == from && flow.destination.address.octets[3] == to &&
            flow.destination.qpn == qpn)
            return &flow;
    return nullptr;
}

TEST(Notification, DatagramsNameTheQueuePairThatIsSlowedDown) {
    for (const unsigned threads : {1u, 3u}) {
        Wire wire(threads);
        wire.marked_datagrams(ud_send_only, 0x22);
        const Snapshot snapshot = wire.snapshot();
        ASSERT_EQ(snapshot.flows.size(), 2u);
        const FlowSnapshot& data = *flow_of(snapshot, 1, 2, 0x22);
        EXPECT_EQ(data.ecn_ce_packets, 6u);
        EXPECT_EQ(data.cnp_packets, 6u);
        EXPECT_EQ(data.pairing.method, PairingMethod::source_qp);
        const FlowSnapshot& back = *flow_of(snapshot, 2, 1, 0x11);
        EXPECT_EQ(back.service, Service::ud);
        EXPECT_EQ(back.cnp_packets, 0u);
        EXPECT_EQ(data.reverse, back.id);
    }
}

TEST(Notification, DatagramsThatComeBackBelongToTheSameFlow) {
    Wire wire;
    wire.send(1, 2, ud_send_only, 0x22, 0x11, true);
    wire.send(2, 1, cnp, 0x11);
    wire.send(2, 1, ud_send_only, 0x11, 0x22);
    const Snapshot snapshot = wire.snapshot();
    ASSERT_EQ(snapshot.flows.size(), 2u);
    EXPECT_EQ(flow_of(snapshot, 1, 2, 0x22)->cnp_packets, 1u);
    EXPECT_EQ(flow_of(snapshot, 2, 1, 0x11)->packets, 2u);
}

/// A queue pair that sends to two of the same host: which of the two a CNP is about, nothing shows until one answers.
TEST(Notification, OfTwoFlowsOfOneQueuePairNeitherIsGuessed) {
    Wire wire;
    wire.send(1, 2, ud_send_only, 0x22, 0x11);
    wire.send(1, 2, ud_send_only, 0x23, 0x11);
    wire.send(2, 1, cnp, 0x11);
    wire.send(1, 3, ud_send_only, 0x22, 0x11);  // to another host: that one's CNPs are its own
    wire.send(3, 1, cnp, 0x11);
    wire.send(1, 4, ud_send_only, 0x22, 0x11);
    wire.send(1, 4, ud_send_only, 0x23, 0x11);
    wire.send(4, 1, cnp, 0x11);
    wire.send(4, 1, ud_send_only, 0x11, 0x23);
    const Snapshot snapshot = wire.snapshot();
    EXPECT_EQ(flow_of(snapshot, 2, 1, 0x11)->service, Service::ud);
    EXPECT_FALSE(flow_of(snapshot, 2, 1, 0x11)->reverse);
    EXPECT_EQ(flow_of(snapshot, 1, 2, 0x22)->cnp_packets, 0u);
    EXPECT_EQ(flow_of(snapshot, 1, 2, 0x23)->cnp_packets, 0u);
    EXPECT_EQ(flow_of(snapshot, 1, 3, 0x22)->cnp_packets, 1u);
    EXPECT_EQ(flow_of(snapshot, 4, 1, 0x11)->reverse, flow_of(snapshot, 1, 4, 0x23)->id);
    EXPECT_EQ(snapshot.flows.size(), 8u);
}

/// UC says nothing of its source. Of the only flow that way the service is known, not more.
TEST(Notification, UnreliableConnectionsLendTheirServiceAlone) {
    Wire wire;
    wire.marked_datagrams(uc_send_only, 0x22);
    wire.send(1, 3, uc_send_only, 0x22);
    wire.send(1, 3, uc_send_only, 0x23);
    wire.send(3, 1, cnp, 0x11);
    wire.send(4, 1, cnp, 0x11);
    const Snapshot snapshot = wire.snapshot();
    const FlowSnapshot& back = *flow_of(snapshot, 2, 1, 0x11);
    EXPECT_EQ(back.service, Service::uc);
    EXPECT_EQ(back.cnp_packets, 6u);
    EXPECT_FALSE(back.reverse);
    EXPECT_EQ(flow_of(snapshot, 1, 2, 0x22)->cnp_packets, 0u);
    EXPECT_EQ(flow_of(snapshot, 3, 1, 0x11)->service, Service::rc) << "one of two, or of neither";
    EXPECT_EQ(flow_of(snapshot, 4, 1, 0x11)->service, Service::rc) << "nobody sends there";
}

/// The capture begins with a CNP: what shows its queue pair's service comes after it.
TEST(Notification, WhatComesBeforeItsSenderIsAssignedLater) {
    for (const unsigned threads : {1u, 3u}) {
        Wire wire(threads);
        for (std::uint8_t to = 2; to <= 7; ++to) wire.send(to, 1, cnp, 0x11);
        wire.send(1, 2, ud_send_only, 0x22, 0x11);  // datagrams name their source
        wire.send(1, 3, ud_send_only, 0x22, 0x12);  // another queue pair's
        wire.send(4, 1, xrc_acknowledge, 0x11);     // the queue pair's own service
        wire.send(5, 1, rc_acknowledge, 0x11);
        wire.send(6, 1, ud_send_only, 0x11, 0x22);
        wire.send(1, 6, ud_send_only, 0x22, 0x11);
        wire.send(1, 7, uc_send_only, 0x22);  // the only one that way: the next CNP shows it
        wire.send(2, 1, cnp, 0x11);
        wire.send(7, 1, cnp, 0x11);
        const Snapshot snapshot = wire.snapshot();
        EXPECT_EQ(snapshot.flows.size(), 10u);
        const FlowSnapshot& back = *flow_of(snapshot, 2, 1, 0x11);
        EXPECT_EQ(back.service, Service::ud);
        EXPECT_EQ(back.id, 1u) << "it began with the CNP";
        EXPECT_EQ(back.packets, 2u);
        EXPECT_EQ(back.reverse, flow_of(snapshot, 1, 2, 0x22)->id);
        EXPECT_EQ(flow_of(snapshot, 1, 2, 0x22)->cnp_packets, 2u);
        EXPECT_EQ(flow_of(snapshot, 3, 1, 0x11)->service, Service::rc) << "nothing has told";
        EXPECT_EQ(flow_of(snapshot, 4, 1, 0x11)->service, Service::xrc);
        EXPECT_EQ(flow_of(snapshot, 4, 1, 0x11)->packets, 2u);
        EXPECT_EQ(flow_of(snapshot, 5, 1, 0x11)->service, Service::rc);
        EXPECT_EQ(flow_of(snapshot, 5, 1, 0x11)->packets, 2u);
        EXPECT_EQ(flow_of(snapshot, 6, 1, 0x11)->reverse, flow_of(snapshot, 1, 6, 0x22)->id);
        EXPECT_EQ(flow_of(snapshot, 1, 6, 0x22)->cnp_packets, 1u);
        EXPECT_EQ(flow_of(snapshot, 7, 1, 0x11)->service, Service::uc);
        EXPECT_EQ(flow_of(snapshot, 7, 1, 0x11)->cnp_packets, 2u);
        EXPECT_FALSE(flow_of(snapshot, 7, 1, 0x11)->reverse);
    }
}

/// A service that was lent gives way to the one that the queue pair turns out to have.
TEST(Notification, ALentServiceIsGivenBack) {
    Wire wire;
    wire.send(1, 2, uc_send_only, 0x22);
    wire.send(2, 1, cnp, 0x11);
    wire.send(2, 1, rc_acknowledge, 0x11);
    const Snapshot snapshot = wire.snapshot();
    ASSERT_EQ(snapshot.flows.size(), 2u);
    EXPECT_EQ(flow_of(snapshot, 2, 1, 0x11)->service, Service::rc);
    EXPECT_EQ(flow_of(snapshot, 2, 1, 0x11)->cnp_packets, 1u);
}

/// CNPs to queue pairs that do not exist, and senders that give way: what is remembered is no more than the flows.
TEST(Notification, WhatIsRememberedIsBounded) {
    const auto octets = [](std::uint32_t senders, std::uint32_t notifications) {
        Wire wire(1, 64);
        for (std::uint32_t i = 0; i < senders; ++i) wire.send(1, 2, ud_send_only, 0x22 + i, 0x1000 + i);
        for (std::uint32_t i = 0; i < notifications; ++i) wire.send(2, 1, cnp, 0x100000 + i);
        const Snapshot snapshot = wire.snapshot();
        EXPECT_EQ(snapshot.flows.size(), 64u);
        return snapshot.memory_octets;
    };
    const std::uint64_t once = octets(64, 64);
    EXPECT_LE(octets(5000, 64), once + 64 * 100);
    EXPECT_LE(octets(64, 5000), once + 64 * 100);
}

}  // namespace
