// Verdicts that rest on ICMP errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/metrics/answers/support.h"

namespace {

using metrics::EventKind;
using metrics::FlowSnapshot;
using metrics::IcmpFigures;
using metrics::Operation;
using metrics::Question;
using metrics::Snapshot;
using metrics::State;
using metrics::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;
using wire::IcmpErrorKind;
using namespace why_test;

/// One SEND that was repeated seven times and never answered, as rxe does it by its timer.
FlowSnapshot unanswered(std::uint64_t id = 1, std::uint32_t qpn = 0x1510) {
    FlowSnapshot flow = healthy(id, 1, 2);
    flow.destination.qpn = qpn;
    flow.packets = 8;
    flow.operations = {};
    flow.operations[metrics::index_of(Operation::send)].count = 1;
    flow.retransmitted_packets = 7;
    flow.timeouts = 7;
    flow.state_ns = {};
    set_state(flow, State::recover_timeout, 1'000'000'000);
    add_event(flow, EventKind::retransmission, {3, 5, 7, 9}, 7, 1);
    return flow;
}

IcmpFigures errors(IcmpErrorKind kind, std::uint8_t sender, std::uint64_t count = 8,
                   std::optional<std::uint32_t> mtu = {}) {
    IcmpFigures icmp;
    for (std::uint64_t i = 0; i < count; ++i) icmp.add(kind, ipv4(sender), mtu);
    return icmp;
}

TEST(Unreachable, NobodyReceivesOnThePort) {
    FlowSnapshot flow = unanswered();
    flow.icmp = errors(IcmpErrorKind::port_unreachable, 2);
    add_event(flow, EventKind::icmp_error, {2, 4, 6, 8}, 8);
    const auto answers = ask(snapshot_of({flow}));
    ASSERT_THAT(alarms(answers), ElementsAre("bandwidth:port_unreachable"));
    EXPECT_THAT(answers[0].summary,
                HasSubstr("192.0.2.2 answered packets from 192.0.2.1 (qp 0x000012) to 192.0.2.2 (qp 0x001510)"));
    EXPECT_THAT(answers[0].summary, HasSubstr("port unreachable"));
    EXPECT_THAT(answers[0].summary, HasSubstr("UDP port 4791"));
    EXPECT_THAT(answers[0].advice, HasSubstr("rdma link"));
    EXPECT_THAT(answers[0].advice, HasSubstr("network namespace"));
    EXPECT_EQ(answers[0].severity, 1);
    const auto* const figure = evidence(answers[0], "ICMP errors: port unreachable");
    ASSERT_NE(figure, nullptr);
    EXPECT_EQ(figure->value, 8);
    EXPECT_THAT(figure->frames, ElementsAre(2, 4, 6, 8));
}

TEST(Unreachable, SomethingOnTheWayRefusesThePort) {
    FlowSnapshot flow = unanswered();
    flow.icmp = errors(IcmpErrorKind::port_unreachable, 77);
    const auto answers = ask(snapshot_of({flow}));
    ASSERT_THAT(alarms(answers), ElementsAre("bandwidth:port_unreachable"));
    EXPECT_THAT(answers[0].summary, HasSubstr("192.0.2.77 answered"));
    EXPECT_THAT(answers[0].summary, HasSubstr("and not 192.0.2.2, refuses UDP port 4791"));
    EXPECT_THAT(answers[0].advice, HasSubstr("firewall rule of 192.0.2.77"));
}

TEST(Unreachable, HostNetworkFilterAndLoop) {
    const std::pair<IcmpErrorKind, const char*> expected_words[] = {
        {IcmpErrorKind::host_unreachable, "has no way to 192.0.2.2"},
        {IcmpErrorKind::prohibited, "a filter there refuses packets to 192.0.2.2"},
        {IcmpErrorKind::time_exceeded, "too many hops"},
    };
    for (const auto& [kind, words] : expected_words) {
        FlowSnapshot flow = unanswered();
        flow.icmp = errors(kind, 77);
        const auto answers = ask(snapshot_of({flow}));
        ASSERT_THAT(alarms(answers), ElementsAre("bandwidth:host_unreachable")) << words;
        EXPECT_THAT(answers[0].summary, HasSubstr(words));
        EXPECT_THAT(answers[0].summary, HasSubstr("192.0.2.77"));
    }
}

/// 1500 less Linux' 96 bytes of headers (40 + 8 + 12 + 4 + 28 + 4) leave 1404: a path MTU of 1024.
TEST(Unreachable, NextHopTakesLess) {
    FlowSnapshot flow = unanswered();
    flow.icmp = errors(IcmpErrorKind::fragmentation_needed, 77, 8, 1500);
    const auto answers = ask(snapshot_of({flow}));
    ASSERT_THAT(alarms(answers), ElementsAre("bandwidth:path_mtu"));
    EXPECT_THAT(answers[0].summary, HasSubstr("the next hop takes IP packets of 1500 bytes at most"));
    EXPECT_THAT(answers[0].advice, HasSubstr("a path MTU of 1024 is the greatest that fits"));
}

/// An old router names no MTU.
TEST(Unreachable, NextHopTakesLessAndDoesNotSayHowMuch) {
    FlowSnapshot flow = unanswered();
    flow.icmp = errors(IcmpErrorKind::fragmentation_needed, 77);
    const auto answers = ask(snapshot_of({flow}));
    ASSERT_THAT(alarms(answers), ElementsAre("bandwidth:path_mtu"));
    EXPECT_THAT(answers[0].summary, HasSubstr("too long for the next hop"));
    EXPECT_THAT(answers[0].advice, HasSubstr("with a smaller path MTU"));
}

/// A flow that goes on shows that the error is over: a route that changed, or TCP that has found the path's MTU.
TEST(Unreachable, ErrorsThatHurtNobodyAreNoAlarm) {
    FlowSnapshot roce = healthy();
    roce.icmp = errors(IcmpErrorKind::host_unreachable, 77, 1);
    EXPECT_THAT(alarms(ask(snapshot_of({roce}))), ElementsAre());
    FlowSnapshot iwarp = healthy();
    iwarp.transport = wire::Transport::iwarp;
    iwarp.tcp.emplace();
    iwarp.tcp->mss = 1448;
    iwarp.icmp = errors(IcmpErrorKind::fragmentation_needed, 77, 1, 1200);
    EXPECT_THAT(alarms(ask(snapshot_of({iwarp}))), ElementsAre());
}

/// Linux sends six errors at once and one a second then: the other queue pairs get none.
TEST(Unreachable, NeighboursWithoutAnErrorOfTheirOwnShareTheVerdict) {
    FlowSnapshot told = unanswered(1, 0x11);
    told.icmp = errors(IcmpErrorKind::port_unreachable, 2);
    const FlowSnapshot silent = unanswered(2, 0x12);
    const auto answers = ask(snapshot_of({told, silent}));
    ASSERT_THAT(alarms(answers), ElementsAre("bandwidth:port_unreachable"));
    EXPECT_THAT(answers[0].flows, testing::UnorderedElementsAre(1, 2));
    // To another host the timer is all that is known.
    FlowSnapshot elsewhere = unanswered(3, 0x13);
    elsewhere.destination.address = ipv4(9);
    EXPECT_THAT(alarms(ask(snapshot_of({told, elsewhere}))),
                testing::UnorderedElementsAre("bandwidth:port_unreachable", "bandwidth:timeout_recovery"));
}

TEST(Unreachable, RequestForAConnection) {
    Snapshot snapshot = snapshot_of({});
    metrics::ConnectionAttempt attempt;
    attempt.transport = wire::Transport::roce2;
    attempt.client.address = ipv4(1);
    attempt.server.address = ipv4(2);
    attempt.request_frame = 1;
    attempt.request_ns = snapshot.capture.last_ns;  // a moment ago: without the error nothing could be said
    attempt.outcome = metrics::AttemptOutcome::unanswered;
    snapshot.attempts = {attempt};
    EXPECT_THAT(alarms(ask(snapshot)), ElementsAre());
    snapshot.attempts[0].icmp = errors(IcmpErrorKind::port_unreachable, 2, 1);
    const auto answers = ask(snapshot);
    ASSERT_THAT(alarms(answers), ElementsAre("bandwidth:port_unreachable"));
    EXPECT_THAT(answers[0].summary, HasSubstr("192.0.2.2 answered the request of 192.0.2.1 for a connection"));
}

/// RFC 6581, 9.2: the responder must set A where the request has it.
TEST(Terminate, ReplyWithoutPeerToPeerIsTheRespondersFault) {
    FlowSnapshot flow = healthy(1, 1, 2);
    flow.transport = wire::Transport::iwarp;
    flow.terminates = 1;
    flow.connection->refused_peer_to_peer_frame = 6;
    add_event(flow, EventKind::terminate, {7}, 1, 0x2007);
    const auto answers = ask(snapshot_of({flow}));
    ASSERT_THAT(alarms(answers), ElementsAre("bandwidth:terminate"));
    EXPECT_THAT(answers[0].advice, HasSubstr("Frame 6, the MPA reply of 192.0.2.2, lacks flag A"));
    EXPECT_THAT(answers[0].advice, HasSubstr("192.0.2.2 must be mended"));
}

TEST(SilentStreams, UnknownRevisionIsSaid) {
    FlowSnapshot flow = healthy();
    flow.transport = wire::Transport::iwarp;
    flow.operations = {};
    flow.payload_bytes = 0;
    flow.messages_mean = flow.bytes_mean = 0;
    flow.messages_max = flow.bytes_max = 0;
    flow.connection->mpa_revision = 129;
    flow.connection->setup_ns = 80'000;
    const auto answers = ask(snapshot_of({flow}));
    const auto& answer = about(answers, Question::bandwidth);
    EXPECT_EQ(answer.verdict, Verdict::undecidable);
    EXPECT_THAT(answer.summary, HasSubstr("MPA revision 129"));
    EXPECT_THAT(answer.summary, testing::Not(HasSubstr("7.1.2")));
}

}  // namespace
