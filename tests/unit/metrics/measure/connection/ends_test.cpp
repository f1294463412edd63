/// How TCP ends iWARP connections, or their set-up, as the whole engine sees it.
#include <gtest/gtest.h>
#include <optional>
#include <string_view>

#include "metrics/measure/engine/analyzer.h"
#include "tests/unit/dissect/iwarp/stream_builder.h"

namespace {

using namespace iwarp_test;
using metrics::EndKind;
using metrics::Snapshot;

constexpr std::uint8_t fin = 0x01;
constexpr std::uint8_t syn = 0x02;
constexpr std::uint8_t rst = 0x04;
constexpr std::uint8_t psh_ack = 0x18;

Wire connection(bool reject = false) {
    Wire wire;
    wire.client.start(true, false, true);
    wire.server.start(false, false, true, reject);
    return wire;
}
/// Both start frames have been sent, or one of them.
void request(Wire& wire) {
    wire.handshake();
    wire.segment(true, {0, 20});
}
void reply(Wire& wire, std::uint8_t flags = psh_ack) {
    wire.raw(false, wire.isn(false) + 1, flags, wire.server.octets, wire.isn(true) + 21);
}
/// A segment without octets, after the start frames that the side has sent.
void end(Wire& wire, bool from_client, std::uint8_t flags, std::uint32_t sent = 20) {
    wire.raw(from_client, wire.isn(from_client) + 1 + sent, flags | 0x10, {}, wire.isn(!from_client) + 1);
}

std::int64_t time_of(std::uint64_t frame) { return 999'990'000 + static_cast<std::int64_t>(frame) * 10'000; }

Snapshot analyzed(const Wire& wire) {
    metrics::Analyzer analyzer;
    for (std::size_t i = 0; i < wire.frames.size(); ++i) {
        wire::Frame frame;
        frame.bytes = wire.frames[i];
        frame.wire_length = wire.wire_lengths[i];
        frame.number = i + 1;
        frame.time_ns = time_of(frame.number);
        analyzer.feed({&frame, 1});
    }
    analyzer.finish();
    return analyzer.snapshot();
}

void expect_attempt(const Snapshot& snapshot, metrics::AttemptOutcome outcome, std::uint64_t end_frame) {
    ASSERT_EQ(snapshot.attempts.size(), 1u);
    EXPECT_EQ(snapshot.attempts[0].outcome, outcome);
    EXPECT_EQ(snapshot.attempts[0].request_frame, 4u);
    EXPECT_EQ(snapshot.attempts[0].end_frame, end_frame);
    EXPECT_EQ(snapshot.attempts[0].client.port, 40000);
    EXPECT_EQ(snapshot.attempts[0].server.port, 7471);
}
void expect_end(const Snapshot& snapshot, std::optional<EndKind> kind, std::uint64_t frame, std::size_t flows = 2) {
    const std::string_view words = !kind                        ? ""
                                   : kind == EndKind::tcp_fin   ? "TCP FIN"
                                   : kind == EndKind::tcp_reset ? "TCP RST"
                                                                : "ports used again";
    EXPECT_TRUE(snapshot.attempts.empty());
    ASSERT_EQ(snapshot.flows.size(), flows);
    for (const metrics::FlowSnapshot& flow : snapshot.flows) {
        EXPECT_EQ(flow.connection->end_kind, kind);
        EXPECT_EQ(flow.connection->end, words);
        EXPECT_EQ(flow.connection->end_frame, frame);
        EXPECT_EQ(flow.connection->end_ns, kind ? std::optional(time_of(frame)) : std::nullopt);
    }
}

TEST(ConnectionEnds, a_request_is_reset) {
    for (const bool by_client : {false, true}) {
        Wire wire = connection();
        request(wire);
        end(wire, by_client, rst, by_client ? 20 : 0);
        expect_attempt(analyzed(wire), metrics::AttemptOutcome::reset, 5);
    }
}

TEST(ConnectionEnds, a_request_is_given_up) {
    Wire wire = connection();
    request(wire);
    end(wire, true, fin);
    expect_attempt(analyzed(wire), metrics::AttemptOutcome::unanswered, 5);
}

TEST(ConnectionEnds, in_the_very_frame_of_the_request) {
    Wire wire = connection();
    wire.handshake();
    wire.raw(true, wire.isn(true) + 1, psh_ack | fin, wire.client.octets, wire.isn(false) + 1);
    expect_attempt(analyzed(wire), metrics::AttemptOutcome::unanswered, 4);
}

/// The FIN is reported before the Reply, which decides all the same.
TEST(ConnectionEnds, the_reply_comes_with_the_fin_or_late) {
    for (const bool together : {true, false}) {
        Wire rejected = connection(true);
        request(rejected);
        if (!together) end(rejected, false, fin);
        reply(rejected, together ? psh_ack | fin : psh_ack);
        expect_attempt(analyzed(rejected), metrics::AttemptOutcome::rejected, together ? 5 : 6);
        Wire accepted = connection();
        request(accepted);
        if (!together) end(accepted, false, fin);
        reply(accepted, together ? psh_ack | fin : psh_ack);
        expect_end(analyzed(accepted), EndKind::tcp_fin, 5);
    }
}

/// The Reply is what the capture lacks. Frames: 1 to 3 the handshake, 4 the Request, 5 the first Send.
TEST(ConnectionEnds, fpdus_tell_that_the_request_was_accepted) {
    Wire wire = connection();
    wire.client.send(1, 0, true, Octets(40, std::byte{7}));
    wire.server.send(1, 0, true, Octets(40, std::byte{8}));
    request(wire);
    const Wire requested = wire;
    wire.segments(true, cut(wire.client, 1448, 20));
    const auto end_of = [](const Wire& of) { return static_cast<std::uint32_t>(of.client.octets.size()); };
    expect_end(analyzed(wire), std::nullopt, 0, 1);
    Wire closed = wire;
    end(closed, true, fin, end_of(closed));
    expect_end(analyzed(closed), EndKind::tcp_fin, 6, 1);
    Wire torn = wire;
    end(torn, true, rst, end_of(torn));
    expect_end(analyzed(torn), EndKind::tcp_reset, 6, 1);
    // In the very segment of the FIN, which is reported before what it holds.
    Wire together = requested;
    const Octets send(together.client.octets.begin() + 20, together.client.octets.end());
    together.raw(true, together.isn(true) + 21, psh_ack | fin, send, together.isn(false) + 21);
    expect_end(analyzed(together), EndKind::tcp_fin, 5, 1);
    // Or it was on its way by another path into the capture: what it says is known then.
    reply(wire);
    const Snapshot late = analyzed(wire);
    expect_end(late, std::nullopt, 0);
    EXPECT_EQ(late.flows[0].connection->setup_ns, 20'000u);  // 4 -> 6, 10 us apart
}

/// No FPDU may pass before the Reply: a Request alone proves nothing, whatever else the connection carries.
TEST(ConnectionEnds, a_request_without_fpdus_stays_unanswered) {
    Wire wire = connection();
    request(wire);
    wire.acknowledge(false, 20);
    end(wire, true, fin);
    expect_attempt(analyzed(wire), metrics::AttemptOutcome::unanswered, 6);
}

TEST(ConnectionEnds, what_was_set_up_ends_once) {
    Wire wire = connection();
    request(wire);
    reply(wire);
    expect_end(analyzed(wire), std::nullopt, 0);
    Wire closed = wire;
    end(closed, false, fin);
    end(closed, true, fin);
    end(closed, true, rst);
    expect_end(analyzed(closed), EndKind::tcp_fin, 6);
    end(wire, true, rst);
    end(wire, false, fin);
    expect_end(analyzed(wire), EndKind::tcp_reset, 6);
}

/// The server's next octet is its 21st. RFC 9293, 3.10.7.4.
TEST(ConnectionEnds, a_reset_that_its_receiver_drops_ends_nothing) {
    Wire waiting = connection();
    request(waiting);
    waiting.raw(false, waiting.isn(false) + 1 + 0x30000000, rst, {}, 0);
    reply(waiting);
    expect_end(analyzed(waiting), std::nullopt, 0);
    Wire set_up = connection();
    request(set_up);
    reply(set_up);
    set_up.raw(false, set_up.isn(false) + 21 + 0x30000000, rst, {}, 0);
    const Snapshot snapshot = analyzed(set_up);
    expect_end(snapshot, std::nullopt, 0);
    for (const metrics::FlowSnapshot& flow : snapshot.flows) {
        EXPECT_FALSE(flow.finished);
        EXPECT_TRUE(flow.event_summaries.empty());
    }
    end(set_up, false, rst);
    expect_end(analyzed(set_up), EndKind::tcp_reset, 7);
}

TEST(ConnectionEnds, a_syn_of_its_own_ends_nothing) {
    Wire wire = connection();
    request(wire);
    reply(wire);
    wire.raw(true, wire.isn(true), syn, {}, 0);
    wire.raw(false, wire.isn(false), syn | 0x10, {}, wire.isn(true) + 1);
    expect_end(analyzed(wire), std::nullopt, 0);
}

TEST(ConnectionEnds, ports_that_are_used_again) {
    Wire wire = connection();
    request(wire);
    wire.raw(true, 70000, syn, {}, 0);
    expect_attempt(analyzed(wire), metrics::AttemptOutcome::unanswered, 5);
    Wire set_up = connection();
    request(set_up);
    reply(set_up);
    set_up.raw(true, 70000, syn, {}, 0);
    expect_end(analyzed(set_up), EndKind::ports_reused, 6);
}

/// Frames 1 to 7 are the first connection, 8 to 14 the second, as far as 7 go; the third's set-up was not captured.
TEST(ConnectionEnds, what_earlier_connections_of_the_same_ports_were_stays_known) {
    Wire all = connection();
    request(all);
    reply(all);
    end(all, false, fin);
    end(all, true, fin);
    Wire second{70000, 80000};
    second.client.start(true, false, true);
    second.server.start(false, false, true);
    request(second);
    reply(second);
    end(second, false, rst);
    Wire third{700000, 800000};
    third.client.start(true, false, true);
    for (std::uint32_t msn = 1; msn <= 5; ++msn) third.client.send(msn, 0, true, Octets(40, std::byte{7}));
    third.handshake();
    third.segments(true, cut(third.client, 64, 20));  // a Send each: 2 + 18 + 40 + 4 octets
    for (const Wire* wire : {&second, &third}) {
        all.frames.insert(all.frames.end(), wire->frames.begin(), wire->frames.end());
        all.wire_lengths.insert(all.wire_lengths.end(), wire->wire_lengths.begin(), wire->wire_lengths.end());
    }
    const Snapshot snapshot = analyzed(all);
    unsigned counted[3] = {};
    for (const metrics::FlowSnapshot& flow : snapshot.flows) {
        const std::uint64_t first = flow.id % metrics::flow_ids_apart;
        const unsigned which = first <= 7 ? 0 : first <= 13 ? 1 : 2;
        ++counted[which];
        constexpr std::uint64_t set_up[] = {4, 11, 0};
        constexpr std::uint64_t ended[] = {6, 13, 0};
        constexpr const char* words[] = {"TCP FIN", "TCP RST", ""};
        EXPECT_EQ(flow.connection->setup_frame, set_up[which]) << first;
        EXPECT_EQ(flow.connection->end_frame, ended[which]) << first;
        EXPECT_EQ(flow.connection->end, words[which]) << first;
    }
    EXPECT_EQ(counted[0], 2u);
    EXPECT_EQ(counted[1], 2u);
    EXPECT_GE(counted[2], 1u);
}

TEST(ConnectionEnds, other_tcp_is_nobodys_concern) {
    metrics::Analyzer analyzer;
    std::size_t before = 0;
    std::uint64_t number = 0;
    for (unsigned i = 0; i < 30000; ++i) {
        Wire wire;
        wire.client_port = static_cast<std::uint16_t>(i + 1);
        const std::uint8_t kinds[] = {syn, rst, fin, syn | fin, syn | rst | fin};
        for (const std::uint8_t flags : kinds) wire.raw(i % 2 == 0, 1000, flags, {}, 0);
        for (const Octets& octets : wire.frames) {
            wire::Frame frame;
            frame.bytes = octets;
            frame.wire_length = static_cast<std::uint32_t>(octets.size());
            frame.time_ns = static_cast<std::int64_t>(++number) * 1'000'000;
            frame.number = number;
            analyzer.feed({&frame, 1});
        }
        if (i == 100) before = analyzer.snapshot().memory_octets;
    }
    const Snapshot after = analyzer.snapshot();
    EXPECT_TRUE(after.attempts.empty());
    EXPECT_TRUE(after.flows.empty());
    EXPECT_LT(after.memory_octets, before + 100'000);
}

}  // namespace
