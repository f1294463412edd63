// What ends a queue pair, and connections that did not come about.
#include <gmock/gmock.h>

#include "support.h"

namespace {

using namespace why_test;
using metrics::EventKind;
using metrics::NakCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct NakCase {
    NakCode code;
    const char* alarm;
};
class Refused : public testing::TestWithParam<NakCase> {};

TEST_P(Refused, ANakOfTheRespondersNamesTheVerdict) {
    auto flow = healthy();
    flow.naks[static_cast<std::size_t>(GetParam().code)] = 1;
    exhibit(flow, EventKind::nak, {15});
    flow.connection.end = "DREQ";
    flow.connection.end_frame = 16;
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

struct TerminateCase {
    std::uint64_t value;  ///< layer << 12 | type << 8 | code
    bool reads;
    const char* alarm;
};
class Terminated : public testing::TestWithParam<TerminateCase> {};

TEST_P(Terminated, LayerTypeAndCodeNameTheVerdict) {
    auto requests = healthy(1);
    requests.transport = dissect::Transport::iwarp;
    requests.reverse = 2;
    if (GetParam().reads) requests.operations[metrics::index_of(metrics::Operation::read)].count = 1;
    auto answers_flow = healthy(2, 1, 2);
    answers_flow.transport = dissect::Transport::iwarp;
    answers_flow.reverse = 1;
    answers_flow.terminates = 1;
    exhibit(answers_flow, EventKind::terminate, {22}, 1, GetParam().value);
    const auto answers = ask(snapshot_of({requests, answers_flow}));
    ASSERT_THAT(alarms(answers), ElementsAre(GetParam().alarm));
    EXPECT_THAT(answers[0].flows, ElementsAre(2, 1));
    EXPECT_THAT(answers[0].evidence[0].frames, ElementsAre(22));
}
INSTANTIATE_TEST_SUITE_P(
    Codes, Terminated,
    testing::Values(TerminateCase{0x0101, false, "bandwidth:remote_access_error"},       // RFC 5040: base and bounds
                    TerminateCase{0x1100, false, "bandwidth:remote_access_error"},       // RFC 5041: invalid STag
                    TerminateCase{0x1202, false, "bandwidth:rnr"},                       // no buffer available
                    TerminateCase{0x1205, false, "bandwidth:remote_operational_error"},  // message too long
                    TerminateCase{0x2002, false, "bandwidth:corruption"},                // RFC 5044: CRC
                    TerminateCase{0x1000, false, "bandwidth:terminate"},                 // local catastrophic
                    // As Linux siw writes "no buffer", "base and bounds" and "invalid STag" of a READ.
                    TerminateCase{0x2102, false, "bandwidth:rnr"},
                    TerminateCase{0x1001, true, "bandwidth:remote_access_error"},
                    TerminateCase{0x1000, true, "bandwidth:remote_access_error"},
                    // Nothing that exists, either way round.
                    TerminateCase{0x7f77, false, "bandwidth:terminate"}));

metrics::ConnectionAttempt attempt(const char* outcome, std::int64_t request_ns) {
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
    snapshot.attempts.push_back(attempt("rejected", 1'000'000'000));
    snapshot.attempts[0].reason = "invalid service ID";
    const auto answers = ask(snapshot);
    ASSERT_THAT(alarms(answers), ElementsAre("bandwidth:connection_rejected"));
    EXPECT_THAT(answers[0].summary,
                HasSubstr("192.0.2.1 (port 7174) refused the connection that 192.0.2.2 asked for: invalid service ID"));
    EXPECT_DOUBLE_EQ(answers[0].severity, 1);
}

TEST(Attempts, AReset) {
    auto snapshot = snapshot_of({});
    snapshot.attempts.push_back(attempt("reset", 1'000'000'000));
    EXPECT_THAT(alarms(ask(snapshot)), ElementsAre("bandwidth:connection_reset"));
}

TEST(Attempts, OneThatWasMadeAMomentBeforeTheEndMayYetBeAnswered) {
    auto snapshot = snapshot_of({});
    snapshot.attempts.push_back(attempt("unanswered", snapshot.capture.last_ns - 999'999'999));
    EXPECT_THAT(alarms(ask(snapshot)), IsEmpty());
    snapshot.attempts[0].request_ns -= 1;
    EXPECT_THAT(alarms(ask(snapshot)), ElementsAre("bandwidth:connection_unanswered"));
}

TEST(Attempts, EstablishedOnesAreNoNews) {
    auto snapshot = snapshot_of({});
    snapshot.attempts.push_back(attempt("established", 1'000'000'000));
    EXPECT_THAT(alarms(ask(snapshot)), IsEmpty());
}

}  // namespace
