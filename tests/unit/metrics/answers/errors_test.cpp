// What ends a queue pair, and connections that did not come about.
#include <gmock/gmock.h>

#include "support.h"

namespace {

using namespace why_test;
using metrics::AttemptOutcome;
using metrics::EventKind;
using metrics::NakCode;
using metrics::RejectReason;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct NakCase {
    NakCode code;
    const char* alarm;
};
class Refused : public testing::TestWithParam<NakCase> {};

TEST_P(Refused, ANakOfTheRespondersNamesTheVerdict) {
    auto flow = healthy();
    flow.naks[static_cast<std::size_t>(GetParam().code)] = 1;
    add_event(flow, EventKind::nak, {15});
    flow.connection->end = "DREQ";
    flow.connection->end_kind = metrics::EndKind::disconnect_request;
    flow.connection->end_frame = 16;
    const auto answers = ask(snapshot_of({flow}));
    ASSERT_THAT(alarms(answers), ElementsAre(GetParam().alarm));
    EXPECT_DOUBLE_EQ(answers[0].severity, 1);
    EXPECT_THAT(answers[0].evidence[0].frames, ElementsAre(15));
}
INSTANTIATE_TEST_SUITE_P(Codes, Refused,
                         testing::Values(NakCase{NakCode::remote_access_error, "bandwidth:remote_access_error"},
                                         NakCase{NakCode::invalid_request, "bandwidth:invalid_request"},
                                         NakCase{NakCode::remote_operational_error,
                                                 "bandwidth:remote_operational_error"}));

TEST(Refusals, LeadBeforeLossOfTheSameFlow) {
    auto flow = healthy();
    flow.naks[static_cast<std::size_t>(NakCode::remote_access_error)] = 1;
    flow.missing_packets = 100;
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))),
                ElementsAre("bandwidth:remote_access_error", "bandwidth:loss_before_tap"));
}

/// A NAK about the flow is its destination's; one that travelled on a flow without a partner is its source's.
TEST(Refusals, OfBothSidesAreToldOfEach) {
    auto about_it = healthy(1);
    about_it.naks[static_cast<std::size_t>(NakCode::remote_access_error)] = 1;
    about_it.reverse = 9;
    auto carries_it = healthy(2);
    carries_it.naks[static_cast<std::size_t>(NakCode::remote_access_error)] = 1;
    const auto answers = ask(snapshot_of({about_it, carries_it}));
    ASSERT_THAT(alarms(answers), ElementsAre("bandwidth:remote_access_error", "bandwidth:remote_access_error"));
    EXPECT_THAT(answers[0].flows, ElementsAre(1));
    EXPECT_THAT(answers[0].summary, testing::StartsWith("192.0.2.1 refused access to its memory from 192.0.2.2"));
    EXPECT_THAT(answers[0].summary, HasSubstr("(1 NAK)"));
    EXPECT_THAT(answers[1].flows, ElementsAre(2));
    EXPECT_THAT(answers[1].summary, testing::StartsWith("192.0.2.2 refused access to its memory from 192.0.2.1"));
    EXPECT_THAT(answers[1].advice, HasSubstr("with what 192.0.2.2 registered"));
}

struct TerminateCase {
    std::uint64_t value;  ///< layer << 12 | type << 8 | code
    const char* alarm;
    const char* words;  ///< of the specification
    const char* advice;
};
class Terminated : public testing::TestWithParam<TerminateCase> {};

TEST_P(Terminated, LayerTypeAndCodeNameTheVerdict) {
    auto requests = healthy(1);
    requests.transport = wire::Transport::iwarp;
    requests.reverse = 2;
    auto answers_flow = healthy(2, 1, 2);
    answers_flow.transport = wire::Transport::iwarp;
    answers_flow.reverse = 1;
    answers_flow.terminates = 1;
    add_event(answers_flow, EventKind::terminate, {22}, 1, GetParam().value);
    const auto answers = ask(snapshot_of({requests, answers_flow}));
    ASSERT_THAT(alarms(answers), ElementsAre(GetParam().alarm));
    EXPECT_THAT(answers[0].flows, ElementsAre(2, 1));
    EXPECT_THAT(answers[0].evidence[0].frames, ElementsAre(22));
    EXPECT_THAT(answers[0].summary, HasSubstr(GetParam().words));
    EXPECT_THAT(answers[0].advice, HasSubstr(GetParam().advice));
}
INSTANTIATE_TEST_SUITE_P(
    Codes, Terminated,
    testing::Values(
        // RFC 5040, 4.8.
        TerminateCase{0x0000, "bandwidth:terminate", "RDMAP local catastrophic error", "completion queues"},
        TerminateCase{0x0100, "bandwidth:remote_access_error", "invalid STag", "invalidated or deregistered"},
        TerminateCase{0x0101, "bandwidth:remote_access_error", "base or bounds violation", "address range"},
        TerminateCase{0x0102, "bandwidth:remote_access_error", "access rights violation", "IBV_ACCESS_REMOTE_WRITE"},
        TerminateCase{0x0206, "bandwidth:remote_operational_error", "unexpected OpCode", "an opcode, a version"},
        // RFC 5041, 7.2.
        TerminateCase{0x1000, "bandwidth:terminate", "DDP local catastrophic error", "completion queues"},
        TerminateCase{0x1100, "bandwidth:remote_access_error", "invalid STag", "invalidated or deregistered"},
        TerminateCase{0x1102, "bandwidth:remote_access_error", "STag not associated", "protection domain"},
        TerminateCase{0x1202, "bandwidth:rnr", "no buffer available", "post receives earlier"},
        TerminateCase{0x1205, "bandwidth:remote_operational_error", "too long for available buffer", "larger receives"},
        TerminateCase{0x1201, "bandwidth:invalid_request", "invalid QN", "queue number"},
        // RFC 5044, 8, and RFC 6581, 8.
        TerminateCase{0x2001, "bandwidth:terminate", "TCP connection closed, terminated, or lost", "TCP gave up"},
        TerminateCase{0x2002, "bandwidth:corruption", "received MPA CRC does not match", "error counters"},
        TerminateCase{0x2003, "bandwidth:terminate", "MPA marker and ULPDU length do not match", "start frames"},
        TerminateCase{0x2004, "bandwidth:terminate", "invalid MPA request frame", "start frames"},
        TerminateCase{0x2005, "bandwidth:terminate", "local catastrophic error", "an error of its own"},
        TerminateCase{0x2006, "bandwidth:terminate", "insufficient IRD resources", "smaller ORD"},
        TerminateCase{0x2007, "bandwidth:terminate", "no matching ready-to-receive option", "peer-to-peer"},
        // Nothing that exists; the dissector has put right what Linux siw writes the other way round.
        TerminateCase{0x7f77, "bandwidth:terminate", "layer 7 type 0xf: code 0x77", "No specification"}));

TEST(Terminates, OfSeveralCodesTheMostFrequentIsNamedAndAllAreCounted) {
    std::vector<metrics::FlowSnapshot> flows;
    for (const std::uint64_t value : {0x1101U, 0x1100U, 0x1100U}) {
        auto flow = healthy(flows.size() + 1);
        flow.transport = wire::Transport::iwarp;
        flow.terminates = 1;
        add_event(flow, EventKind::terminate, {30 + flows.size()}, 1, value);
        flows.push_back(flow);
    }
    const auto answers = ask(snapshot_of(flows));
    ASSERT_THAT(alarms(answers), ElementsAre("bandwidth:remote_access_error"));
    EXPECT_THAT(answers[0].summary, HasSubstr("2 of them for DDP tagged buffer error: invalid STag"));
    EXPECT_EQ(evidence(answers[0], "Terminates: DDP tagged buffer error: invalid STag")->value, 2);
    EXPECT_EQ(evidence(answers[0], "Terminates: DDP tagged buffer error: base or bounds violation")->value, 1);
}

metrics::ConnectionAttempt attempt(AttemptOutcome outcome, std::int64_t request_ns) {
    metrics::ConnectionAttempt attempt;
    attempt.client.address = ipv4(2);
    attempt.server.address = ipv4(1);
    attempt.server.port = 7174;
    attempt.request_frame = 1;
    attempt.end_frame = 2;
    attempt.request_ns = request_ns;
    attempt.outcome = outcome;
    return attempt;
}

TEST(Attempts, ARefusedConnectionIsAnAlarmWithItsReason) {
    auto snapshot = snapshot_of({});
    snapshot.attempts.push_back(attempt(AttemptOutcome::rejected, 1'000'000'000));
    snapshot.attempts[0].reason = "Invalid Service ID";
    snapshot.attempts[0].reject_reason = metrics::RejectReason::invalid_service_id;
    const auto answers = ask(snapshot);
    ASSERT_THAT(alarms(answers), ElementsAre("bandwidth:connection_rejected"));
    EXPECT_THAT(answers[0].summary,
                HasSubstr("192.0.2.1 (port 7174) refused the connection that 192.0.2.2 asked for: Invalid Service ID"));
    EXPECT_DOUBLE_EQ(answers[0].severity, 1);
}

TEST(Attempts, AClientThatGivesUpIsNotRefused) {
    auto snapshot = snapshot_of({});
    for (const bool by_client : {false, true, true}) {
        snapshot.attempts.push_back(attempt(AttemptOutcome::rejected, 1'000'000'000));
        snapshot.attempts.back().by_client = by_client;
        snapshot.attempts.back().reason = by_client ? "Timeout" : "Stale connection";
        snapshot.attempts.back().reject_reason = by_client ? RejectReason::timeout : RejectReason::stale_connection;
    }
    const auto answers = ask(snapshot);
    ASSERT_THAT(alarms(answers), ElementsAre("bandwidth:connection_rejected", "bandwidth:connection_rejected"));
    EXPECT_THAT(answers[0].summary, HasSubstr("192.0.2.1 (port 7174) refused the connection that 192.0.2.2 asked for"));
    EXPECT_THAT(answers[0].advice, HasSubstr("192.0.2.1 still has a connection with that queue pair of 192.0.2.2"));
    EXPECT_EQ(answers[1].summary,
              "192.0.2.2 gave up 2 connections that it had asked 192.0.2.1 (port 7174) for: Timeout.");
    EXPECT_THAT(answers[1].advice, HasSubstr("192.0.2.2 had waited without success for 192.0.2.1 to answer"));
    snapshot.attempts[1].reason = snapshot.attempts[2].reason = "Consumer Reject";
    snapshot.attempts[1].reject_reason.reset();
    snapshot.attempts[2].reject_reason.reset();
    EXPECT_THAT(ask(snapshot)[1].advice, HasSubstr("See in the log on 192.0.2.2 why it refused what 192.0.2.1"));
}

TEST(Attempts, AdviceFitsTheTransport) {
    auto snapshot = snapshot_of({});
    snapshot.attempts.push_back(attempt(AttemptOutcome::unanswered, 1'000'000'000));
    EXPECT_THAT(ask(snapshot)[0].advice, HasSubstr("UDP port 4791"));
    snapshot.attempts[0].transport = wire::Transport::iwarp;
    EXPECT_THAT(ask(snapshot)[0].advice, AllOf(HasSubstr("does not speak MPA"), Not(HasSubstr("4791"))));
    snapshot.attempts[0].outcome = AttemptOutcome::rejected;
    EXPECT_THAT(ask(snapshot)[0].advice, HasSubstr("CRC, markers and MPA revision"));
    snapshot.attempts[0].transport = wire::Transport::roce2;
    EXPECT_THAT(ask(snapshot)[0].advice, Not(HasSubstr("markers")));
    snapshot.attempts[0].reject_reason = RejectReason::invalid_service_id;
    EXPECT_THAT(ask(snapshot)[0].advice, HasSubstr("No program listens"));
}

TEST(Attempts, AReset) {
    auto snapshot = snapshot_of({});
    snapshot.attempts.push_back(attempt(AttemptOutcome::reset, 1'000'000'000));
    EXPECT_THAT(alarms(ask(snapshot)), ElementsAre("bandwidth:connection_reset"));
}

TEST(Attempts, OneThatWasMadeAMomentBeforeTheEndMayYetBeAnswered) {
    auto snapshot = snapshot_of({});
    snapshot.attempts.push_back(attempt(AttemptOutcome::unanswered, snapshot.capture.last_ns - 999'999'999));
    EXPECT_THAT(alarms(ask(snapshot)), IsEmpty());
    snapshot.attempts[0].request_ns -= 1;
    EXPECT_THAT(alarms(ask(snapshot)), ElementsAre("bandwidth:connection_unanswered"));
}

TEST(Attempts, EstablishedOnesAreNoNews) {
    auto snapshot = snapshot_of({});
    snapshot.attempts.push_back(attempt(AttemptOutcome::established, 1'000'000'000));
    EXPECT_THAT(alarms(ask(snapshot)), IsEmpty());
}

}  // namespace
