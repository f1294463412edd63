// Whether a sender gave up: the evidence that is asked for.
#include "metrics/answers/ends.h"

#include <gmock/gmock.h>

#include "support.h"

namespace {

using testing::HasSubstr;
using testing::Not;
using why_test::about;
using why_test::alarms;
using why_test::ask;
using why_test::healthy;
using why_test::snapshot_of;

/// A SEND of 64 bytes that is sent 8 times, 10 ms apart; 8 x 10 ms end 930 ms before the capture.
metrics::FlowSnapshot never_answered() {
    metrics::FlowSnapshot flow = healthy();
    flow.operations = {};
    flow.retransmitted_packets = 7;
    flow.timeouts = 7;
    flow.retries = metrics::RetryFigures{};
    metrics::RetryFigures& retries = *flow.retries;
    retries.request = {metrics::Operation::send, 64, 64, 5};
    retries.is_first = true;
    retries.repeats = 7;
    retries.first_ns = 1'000'000'000;
    retries.last_ns = 1'070'000'000;
    retries.repeat_frame = 6;
    retries.last_frame = 12;
    retries.interval_min_ns = retries.interval_max_ns = 10'000'000;
    return flow;
}

TEST(Ends, NeverAnswered) {
    const auto answers = ask(snapshot_of({never_answered()}));
    EXPECT_THAT(alarms(answers), testing::ElementsAre("bandwidth:never_answered"));
    EXPECT_THAT(answers[0].summary, HasSubstr("192.0.2.1 never answered anything on this queue pair"));
    EXPECT_THAT(answers[0].summary,
                HasSubstr("the SEND of 64 bytes of frame 5 8 times, 10.0 ms apart, 70.0 ms in all"));
    EXPECT_THAT(answers[0].summary, HasSubstr("gave up after 7 retries"));
    EXPECT_THAT(answers[0].advice, HasSubstr("4791"));
}

TEST(Ends, OneRepeatAtTheEndIsNoEnd) {
    metrics::FlowSnapshot flow = never_answered();
    flow.retries->repeats = 1;
    flow.retries->last_ns = 2'000'000'000;
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), testing::ElementsAre("bandwidth:timeout_recovery"));
    flow.retries->repeats = 2;
    flow.retries->last_ns = 1'970'000'000;  // three intervals before the end
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), testing::ElementsAre("bandwidth:timeout_recovery"));
    flow.retries->last_ns = 1'900'000'000;  // ten
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), testing::ElementsAre("bandwidth:never_answered"));
}

TEST(Ends, TheAgreedNumberOfRetries) {
    metrics::FlowSnapshot flow = never_answered();
    flow.retries->repeats = 3;
    flow.retries->last_ns = 2'000'000'000;
    EXPECT_FALSE(metrics::end_verdict(metrics::Subject(snapshot_of({flow}), why_test::NoNames{}, nullptr), flow));
    flow.connection->retry_count = 3;
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), testing::ElementsAre("bandwidth:never_answered"));
}

TEST(Ends, StoppedAnsweringAndWentOnAnswering) {
    metrics::FlowSnapshot flow = never_answered();
    flow.last_answer_frame = 4;
    auto answers = ask(snapshot_of({flow}));
    EXPECT_THAT(alarms(answers), testing::ElementsAre("bandwidth:stopped_answering"));
    EXPECT_THAT(answers[0].summary, HasSubstr("answered until frame 4"));
    flow.last_answer_frame = 9;
    answers = ask(snapshot_of({flow}));
    EXPECT_THAT(alarms(answers), testing::ElementsAre("bandwidth:retries_used_up"));
    EXPECT_THAT(answers[0].summary, HasSubstr("went on answering, up to frame 9"));
}

TEST(Ends, OnlyLongPacketsAreLost) {
    metrics::FlowSnapshot flow = never_answered();
    flow.last_answer_frame = 4;
    flow.retries->request = {metrics::Operation::write, 16'384, 4096, 5};
    flow.retries->acknowledged_bytes_max = 64;
    auto answers = ask(snapshot_of({flow}));
    EXPECT_THAT(alarms(answers), testing::ElementsAre("bandwidth:path_mtu"));
    EXPECT_THAT(answers[0].summary, HasSubstr("Only packets above 64 bytes"));
    flow.retries->acknowledged_bytes_max = 4096;
    answers = ask(snapshot_of({flow}));
    EXPECT_THAT(alarms(answers), testing::ElementsAre("bandwidth:stopped_answering"));
    EXPECT_THAT(answers[0].summary, Not(HasSubstr("MTU")));
}

TEST(Ends, RnrRetries) {
    metrics::FlowSnapshot flow = never_answered();
    flow.retransmitted_packets = 0;
    flow.timeouts = 0;
    flow.rnr_naks = 1;
    flow.reverse = 2;
    flow.retries->repeats = 0;
    flow.retries->rnr_naks = 1;
    flow.retries->refused_last = true;
    flow.retries->rnr_timer_ns = 1'280'000;
    flow.retries->last_ns = 2'000'000'000;
    metrics::FlowSnapshot back = healthy(2, 1, 2);
    back.operations = {};
    back.payload_bytes = 0;
    back.reverse = 1;
    EXPECT_THAT(alarms(ask(snapshot_of({flow, back}))), testing::ElementsAre("bandwidth:rnr"));
    flow.connection->rnr_retry_count = 0;
    const auto answers = ask(snapshot_of({flow, back}));
    EXPECT_THAT(alarms(answers), testing::ElementsAre("bandwidth:rnr_retries_used_up"));
    EXPECT_THAT(answers[0].summary, HasSubstr("rnr_retry_count 0 was agreed on"));
    flow.connection->rnr_retry_count = 7;
    flow.retries->last_ns = 1'000'000'000;
    EXPECT_THAT(alarms(ask(snapshot_of({flow, back}))), testing::ElementsAre("bandwidth:rnr"));
}

TEST(Ends, RepeatsThatWereAllAnswered) {
    metrics::FlowSnapshot flow = healthy();
    flow.retransmitted_packets = 48;
    flow.timeouts = 48;
    why_test::set_state(flow, metrics::State::recover_timeout, 360'000'000);
    auto& repeated = flow.repeat_answers.emplace();
    repeated.repeats = repeated.repeated_answers = 48;
    repeated.first_repeat_min_ns = 2'000'000;
    repeated.first_answer_ns.record(40'000'000, 12);
    EXPECT_THAT(ask(snapshot_of({flow}))[0].summary, HasSubstr("its timer ran out too early"));
    repeated.repeated_answers = 12;
    EXPECT_THAT(ask(snapshot_of({flow}))[0].summary, Not(HasSubstr("too early")));
}

}  // namespace
