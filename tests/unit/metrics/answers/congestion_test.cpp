// Whether the network is congested: marks, CNPs and whom they ask, pauses, and many senders to one.
#include <gmock/gmock.h>

#include "support.h"

namespace {

using namespace why_test;
using metrics::EventKind;
using metrics::Question;
using metrics::State;
using metrics::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Congestion, WhatIsLostAfterTheTapIsNoPeace) {
    auto flow = healthy();
    EXPECT_THAT(about(ask(snapshot_of({flow})), Question::congestion).summary, HasSubstr("nothing lost on the way"));
    flow.retransmitted_packets = 30;
    flow.naks[static_cast<std::size_t>(metrics::NakCode::psn_sequence_error)] = 3;
    const auto answers = ask(snapshot_of({flow}));
    EXPECT_EQ(about(answers, Question::congestion).verdict, Verdict::loss);
    flow.naks = {};
    flow.timeouts = 3;  // nothing shows whether something was lost
    EXPECT_THAT(about(ask(snapshot_of({flow})), Question::congestion).summary, Not(HasSubstr("nothing lost")));
}

TEST(Congestion, MarksAlarmThoughThroughputIsFine) {
    auto flow = healthy();
    flow.ecn_capable_packets = 4000;
    flow.ecn_ce_packets = 200;
    add_event(flow, EventKind::ce_mark, {9, 12}, 200);
    const auto answers = ask(snapshot_of({flow}));
    ASSERT_THAT(alarms(answers), ElementsAre("congestion:marked"));
    EXPECT_THAT(answers[0].summary, HasSubstr("200 of 4,000 packets (5 %)"));
    EXPECT_THAT(answers[0].summary, HasSubstr("no CNP"));
    EXPECT_THAT(answers[0].advice, HasSubstr("DCQCN"));
}

TEST(Congestion, CnpsWithoutMarksWereMadeBehindTheTap) {
    auto flow = healthy();
    flow.cnp_packets = 7;
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), ElementsAre("congestion:throttled"));
}

/// An unpaired flow shows the CNPs that it carries: those from .2 to .1 slow down what .1 sends.
TEST(Congestion, CnpsOfAFlowWithoutAPartnerAreAboutTheOtherDirection) {
    auto flow = healthy();
    flow.cnp_packets = 6;
    add_event(flow, EventKind::cnp, {4, 15}, 6);
    const auto answers = ask(snapshot_of({flow}));
    ASSERT_THAT(alarms(answers), ElementsAre("congestion:throttled"));
    EXPECT_THAT(answers[0].summary, HasSubstr("192.0.2.2 asked 192.0.2.1 6 times to slow down"));
    EXPECT_THAT(answers[0].summary, HasSubstr("from 192.0.2.1 to 192.0.2.2"));
    EXPECT_THAT(answers[0].summary, HasSubstr("is unknown: their flow"));
    EXPECT_THAT(answers[0].advice, HasSubstr("between 192.0.2.1 and 192.0.2.2"));
    ASSERT_NE(evidence(answers[0], "CNPs"), nullptr);
    EXPECT_DOUBLE_EQ(evidence(answers[0], "CNPs")->value, 6);
    EXPECT_THAT(evidence(answers[0], "CNPs")->frames, ElementsAre(4, 15));

    flow.reverse = 2;  // now it is what they slow down
    const auto paired = ask(snapshot_of({flow}));
    ASSERT_THAT(alarms(paired), ElementsAre("congestion:throttled"));
    EXPECT_THAT(paired[0].summary, HasSubstr("192.0.2.1 asked 192.0.2.2 6 times to slow down"));
    EXPECT_THAT(paired[0].advice, HasSubstr("between the capture point and 192.0.2.1"));
}

TEST(Congestion, WhoeverIsAskedToSlowDownIsOneFinding) {
    auto paired = healthy(1, 1, 2);
    paired.reverse = 9;
    paired.cnp_packets = 4;
    auto alone = healthy(2, 2, 1);
    alone.cnp_packets = 3;
    auto other_way = healthy(3, 2, 1);
    other_way.reverse = 8;
    other_way.cnp_packets = 5;
    const auto answers = ask(snapshot_of({paired, alone, other_way}));
    ASSERT_THAT(alarms(answers), ElementsAre("congestion:throttled", "congestion:throttled"));
    EXPECT_THAT(answers[0].flows, ElementsAre(1, 2));
    EXPECT_THAT(answers[0].summary, HasSubstr("192.0.2.2 asked 192.0.2.1 7 times to slow down"));
    EXPECT_THAT(answers[1].flows, ElementsAre(3));
    EXPECT_THAT(answers[1].summary, HasSubstr("192.0.2.1 asked 192.0.2.2 5 times to slow down"));
}

/// UC names no source, so its CNPs travel on a flow of their own: the sender was notified all the same.
TEST(Congestion, CnpsThatAreAssignedToNoFlowMayAnswerMarks) {
    auto flow = healthy();
    flow.service = metrics::Service::uc;
    flow.ecn_capable_packets = 4000;
    flow.ecn_ce_packets = 200;
    auto notifications = healthy(2, 1, 2);
    notifications.operations = {};
    notifications.payload_bytes = 0;
    notifications.cnp_packets = 6;
    add_event(notifications, EventKind::cnp, {2, 13}, 6);
    const auto answers = ask(snapshot_of({flow, notifications}));
    ASSERT_THAT(alarms(answers), ElementsAre("congestion:marked"));
    EXPECT_THAT(answers[0].summary, HasSubstr("6 CNPs on other flows asked 192.0.2.2 to slow down"));
    EXPECT_THAT(answers[0].advice, Not(HasSubstr("DCQCN")));
    EXPECT_EQ(evidence(answers[0], "CNPs"), nullptr);
    ASSERT_NE(evidence(answers[0], "CNPs on other flows"), nullptr);
    EXPECT_DOUBLE_EQ(evidence(answers[0], "CNPs on other flows")->value, 6);
    EXPECT_THAT(evidence(answers[0], "CNPs on other flows")->frames, ElementsAre(2, 13));
}

/// Marked packets to .1, whose flow carries CNPs about what .1 sends: .2 got no notification.
TEST(Congestion, CnpsTheOtherWayDoNotAnswerMarks) {
    auto flow = healthy();
    flow.ecn_capable_packets = 4000;
    flow.ecn_ce_packets = 200;
    flow.cnp_packets = 6;
    const auto answers = ask(snapshot_of({flow}));
    ASSERT_THAT(alarms(answers), ElementsAre("congestion:marked", "congestion:throttled"));
    EXPECT_THAT(answers[0].summary, HasSubstr("no CNP told the sender of it"));
    EXPECT_THAT(answers[1].summary, HasSubstr("192.0.2.2 asked 192.0.2.1 6 times"));
}

TEST(Congestion, WhoSlowsSendersDownIsWhereManyCome) {
    auto flow = healthy(1, 1, 2);  // without a partner, from the host that many send to
    flow.cnp_packets = 6;
    auto snapshot = snapshot_of({flow});
    metrics::HostSnapshot host;
    host.address = ipv4(1);
    host.incast_senders_max = 12;
    snapshot.hosts.push_back(host);
    EXPECT_THAT(alarms(ask(snapshot)), ElementsAre("congestion:throttled", "congestion:incast"));
    snapshot.hosts[0].address = ipv4(2);
    EXPECT_THAT(alarms(ask(snapshot)), ElementsAre("congestion:throttled"));
}

TEST(Congestion, PauseFramesAlarm) {
    auto snapshot = snapshot_of({healthy()});
    metrics::PauseSnapshot pause;
    pause.pfc_frames = 2;
    pause.priority_frames[3] = 2;
    pause.priority_frames[4] = 1;  // by one of the two
    pause.priority_quanta[3] = 131'070;
    pause.priority_quanta[4] = 65'535;
    pause.frames = {4, 5};
    snapshot.pauses.push_back(pause);
    const auto answers = ask(snapshot);
    ASSERT_THAT(alarms(answers), ElementsAre("congestion:pause"));
    EXPECT_THAT(answers[0].summary, HasSubstr("2 PAUSE frames asked a sender to stop sending in priority 3, 4"));
    EXPECT_EQ(evidence(answers[0], "priority flow control frames")->value, 2);
    EXPECT_EQ(evidence(answers[0], "stop asked for, at this link's rate"), nullptr) << "which is not known";
}

/// 0.2 of the second; taken back early, the quanta are no measure.
TEST(Congestion, PausesHurtAsLongAsTheyHold) {
    auto snapshot = snapshot_of({healthy()});
    metrics::PauseSnapshot pause;
    pause.pfc_frames = pause.priority_frames[3] = pause.priority_frames[4] = 200;
    pause.priority_quanta[3] = pause.priority_quanta[4] = 200 * 65'535;
    pause.stopped_ns.emplace().priority_ns[3] = 200'000'000;
    pause.stopped_ns->priority_ns[4] = 150'000'000;  // at the same time
    snapshot.pauses.push_back(pause);
    const auto stop_of = [](const metrics::Answer& answer) {
        return evidence(answer, "stop asked for, at this link's rate")->value;
    };
    auto answer = about(ask(snapshot), Question::congestion);
    EXPECT_DOUBLE_EQ(stop_of(answer), 200'000'000);
    EXPECT_DOUBLE_EQ(answer.severity, 0.2);
    snapshot.pauses[0].stopped_ns->all_ns = 300'000'000;
    EXPECT_DOUBLE_EQ(stop_of(about(ask(snapshot), Question::congestion)), 300'000'000);
    snapshot.pauses[0].stopped_ns->all_ns = 3'000'000'000;  // several senders, a second in all
    answer = about(ask(snapshot), Question::congestion);
    EXPECT_DOUBLE_EQ(stop_of(answer), 1e9);
    EXPECT_DOUBLE_EQ(answer.severity, 1);
}

TEST(Congestion, ResumesAloneArePeaceful) {
    auto snapshot = snapshot_of({healthy()});
    metrics::PauseSnapshot pause;
    pause.resume_frames = 2;
    snapshot.pauses.push_back(pause);
    EXPECT_THAT(alarms(ask(snapshot)), IsEmpty());
}

TEST(Congestion, ManyToOneAlarmsWhereItShows) {
    auto lossy = healthy();
    auto snapshot = snapshot_of({lossy});
    metrics::HostSnapshot host;
    host.address = ipv4(1);
    host.incast_senders_max = 12;
    snapshot.hosts.push_back(host);
    EXPECT_THAT(alarms(ask(snapshot)), IsEmpty());
    snapshot.flows[0].ecn_ce_packets = 400;
    EXPECT_THAT(alarms(ask(snapshot)), ElementsAre("congestion:marked", "congestion:incast"));
}

}  // namespace
