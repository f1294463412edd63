// What `why` says where the sending program was traced.
#include <gtest/gtest.h>

#include "support.h"

namespace {

using namespace metrics;

FlowSnapshot traced() {
    FlowSnapshot flow = why_test::healthy();
    VerbsFigures& verbs = flow.verbs.emplace();
    verbs.process = {4711, "/usr/bin/ib_write_bw -t 16", {}};
    verbs.posts = verbs.completions = 1000;
    verbs.send_queue = {16, 8, 16, 1'000'000'000, 0, 100'000'000};
    return flow;
}

Answer answer_of(FlowSnapshot flow, Question question) {
    Snapshot snapshot;
    snapshot.flows.push_back(std::move(flow));
    for (Answer& one : answer(snapshot, why_test::TwoNames()))
        if (one.question == question) return one;
    return {};
}

/// Half of the time is the sender's between messages; here, with work posted: it is in nic_stall then.
TEST(TracedWhy, WorkThatIsPostedAndNotSentIsNotTheApplications) {
    FlowSnapshot flow = traced();
    flow.state_ns[index_of(State::application_in_flight)] = 100'000'000;
    flow.state_ns[index_of(State::nic_stall)] = 400'000'000;
    EXPECT_EQ(answer_of(flow, Question::bandwidth).verdict, Verdict::link_full) << "stalls like those of a full link";
    flow.verbs->held_ns[0] = 390'000'000;
    const Answer answer = answer_of(flow, Question::bandwidth);
    EXPECT_EQ(answer.verdict, Verdict::posted_not_sent);
    EXPECT_NE(answer.summary.find("ib_write_bw (pid 4711) on client"), std::string::npos) << answer.summary;
    EXPECT_NE(answer.summary.find("39 %"), std::string::npos) << answer.summary;
}

TEST(TracedWhy, SlowPollingIsToldFromSlowPosting) {
    FlowSnapshot flow = traced();
    EXPECT_EQ(answer_of(flow, Question::bandwidth).verdict, Verdict::application_depth);
    flow.verbs->unpolled_ns[0] = 400'000'000;
    EXPECT_EQ(answer_of(flow, Question::bandwidth).verdict, Verdict::slow_polling);
    flow.verbs->unpolled_ns[0] = 100'000'000;
    EXPECT_EQ(answer_of(flow, Question::bandwidth).verdict, Verdict::application_depth);
}

TEST(TracedWhy, LatencyHasAPartBeforeTheWireAndOneBehindIt) {
    FlowSnapshot flow = traced();
    DelayFigures& delays = flow.verbs->waits(Operation::write).delays;
    delays.post_to_wire_ns.record(600'000, 100);
    delays.wire_ns.record(0, 100);
    delays.wire_to_ack_ns.record(100'000, 100);
    delays.ack_to_poll_ns.record(10'000, 100);
    delays.whole_ns.record(710'000, 100);
    EXPECT_EQ(answer_of(flow, Question::latency).verdict, Verdict::posted_not_sent);
    std::swap(delays.post_to_wire_ns, delays.ack_to_poll_ns);
    EXPECT_EQ(answer_of(flow, Question::latency).verdict, Verdict::slow_polling);
    delays.ack_to_poll_ns = delays.post_to_wire_ns;
    delays.whole_ns = {};
    delays.whole_ns.record(120'000, 100);
    EXPECT_EQ(answer_of(flow, Question::latency).verdict, Verdict::normal);
}

TEST(TracedWhy, QueueDepthIsTheQueuesOwn) {
    FlowSnapshot flow = traced();
    EXPECT_EQ(answer_of(flow, Question::queue_depth).verdict, Verdict::ok);
    flow.verbs->send_queue.full_ns = 600'000'000;
    const Answer full = answer_of(flow, Question::queue_depth);
    EXPECT_EQ(full.verdict, Verdict::at_limit);
    EXPECT_NE(full.summary.find("16 fit"), std::string::npos) << full.summary;
    flow.verbs->send_queue = {128, 2, 16, 1'000'000'000, 500'000'000, 0};
    EXPECT_EQ(answer_of(flow, Question::queue_depth).verdict, Verdict::underused);
    const double sure = answer_of(flow, Question::queue_depth).confidence;
    flow.verbs->records_lost = 3;
    EXPECT_LT(answer_of(flow, Question::queue_depth).confidence, sure);
    // Nothing acknowledges datagrams, but their program knows.
    flow.service = Service::ud;
    EXPECT_EQ(answer_of(flow, Question::queue_depth).verdict, Verdict::underused);
    flow.verbs.reset();
    EXPECT_EQ(answer_of(flow, Question::queue_depth).verdict, Verdict::undecidable);
}

}  // namespace
