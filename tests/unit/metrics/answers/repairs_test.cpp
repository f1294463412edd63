// Which illness a flow is said to have: the one that explains its other symptoms.
#include <array>
#include <gmock/gmock.h>

#include "support.h"

namespace {

using namespace why_test;
using metrics::EventKind;
using metrics::NakCode;
using metrics::Question;
using metrics::State;
using metrics::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

void nak(metrics::FlowSnapshot& flow, NakCode code, std::uint64_t count) {
    flow.naks[static_cast<std::size_t>(code)] = count;
}

/// A flow whose partner is known, so that NAKs are about it; the partner need not be in the snapshot.
metrics::FlowSnapshot paired() {
    auto flow = healthy();
    flow.reverse = 9;
    return flow;
}

TEST(Repairs, HealthyTrafficIsSilent) {
    const auto answers = ask(snapshot_of({healthy()}));
    EXPECT_THAT(alarms(answers), IsEmpty());
    EXPECT_EQ(answers.size(), metrics::usual_question_count);
    for (std::size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(static_cast<std::size_t>(answers[i].question), i);
}

TEST(Repairs, LossThatTheTapSeesIsUpstream) {
    auto flow = paired();
    flow.missing_packets = 8;
    flow.retransmitted_packets = 40;
    nak(flow, NakCode::psn_sequence_error, 8);
    set_state(flow, State::recover_nak, 300'000'000);
    set_state(flow, State::application_in_flight, 200'000'000);
    add_event(flow, EventKind::gap, {100, 200, 300, 400}, 8);
    const auto answers = ask(snapshot_of({flow}));
    ASSERT_THAT(alarms(answers), ElementsAre("bandwidth:loss_before_tap"));
    EXPECT_THAT(answers[0].summary, HasSubstr("8 of 4,008 packets (0.2 %)"));
    EXPECT_THAT(answers[0].summary, HasSubstr("from 192.0.2.2 (qp 0x000012) to 192.0.2.1 (qp 0x000011)"));
    EXPECT_THAT(answers[0].summary, HasSubstr("30 % of the time"));  // 300 of 1000 ms
    EXPECT_DOUBLE_EQ(answers[0].severity, 0.3);
    const auto* missing = evidence(answers[0], "packets missing at the capture point");
    ASSERT_NE(missing, nullptr);
    EXPECT_THAT(missing->frames, ElementsAre(100, 200, 300, 400));
    EXPECT_EQ(about(answers, Question::congestion).verdict, Verdict::loss);
    EXPECT_EQ(about(answers, Question::latency).verdict, Verdict::retransmission);
}

/// As in pcaps/nvme-rdma-rxe-loss.pcap.gz: tshark has a READ response lost after frame 12372, and sent again in frame
/// 12406, 2.32 s later. Only the other loss of this flow has a repair of its own, of 20 ms.
TEST(Repairs, TheLongestIsNotNamedIfItWasNotMeasured) {
    auto flow = paired();
    flow.missing_packets = 2;
    flow.retransmitted_packets = 34;
    flow.recovery.count = 1;
    flow.recovery.total_ns.record(20'000'000);
    set_state(flow, State::recover_nak, 2'340'000'000);
    const auto answers = ask(snapshot_of({flow}));
    ASSERT_THAT(alarms(answers), ElementsAre("bandwidth:loss_before_tap"));
    EXPECT_EQ(evidence(answers[0], "longest repair"), nullptr);
    const metrics::Answer& latency = about(answers, Question::latency);
    EXPECT_EQ(evidence(latency, "longest repair"), nullptr);
    EXPECT_THAT(latency.summary, HasSubstr("waited 2.34 s for repairs; "));

    flow.recovery.total_ns.record(2'320'000'000);
    const auto measured = ask(snapshot_of({flow}));
    ASSERT_NE(evidence(measured[0], "longest repair"), nullptr);
    EXPECT_DOUBLE_EQ(evidence(measured[0], "longest repair")->value, 2'320'000'000);
    EXPECT_THAT(about(measured, Question::latency).summary, HasSubstr("waited 2.34 s for repairs, 2.32 s at worst; "));
}

/// A TCP sender goes on during a repair: it stood still for 1.46 ms, but a message waited for 18.2 ms.
TEST(Repairs, NoMessageWaitsLongerThanAllTogether) {
    auto flow = paired();
    flow.missing_packets = 3;
    flow.retransmitted_packets = 3;
    flow.recovery.count = 3;
    for (const std::uint64_t repair_ns : std::to_array<std::uint64_t>({12'700'000, 13'600'000, 18'200'000}))
        flow.recovery.total_ns.record(repair_ns);
    set_state(flow, State::recover_nak, 1'460'000);
    const auto answers = ask(snapshot_of({flow}));
    EXPECT_THAT(about(answers, Question::latency).summary, HasSubstr(" waited for repairs, 18.2 ms at worst; "));
}

TEST(Repairs, RepeatsWithoutAHoleAreLossDownstream) {
    auto flow = paired();
    flow.retransmitted_packets = 40;
    nak(flow, NakCode::psn_sequence_error, 8);
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), ElementsAre("bandwidth:loss_after_tap"));
}

/// Acknowledgements alone, from .2 to .1: their NAKs are about what .1 sent.
TEST(Repairs, NaksWithoutTheFlowTheyAreAboutAreItsLoss) {
    auto answers_alone = healthy();
    answers_alone.operations = {};
    answers_alone.payload_bytes = 0;
    answers_alone.packets = 66;
    nak(answers_alone, NakCode::psn_sequence_error, 6);
    add_event(answers_alone, EventKind::nak, {5, 16}, 6);
    const auto answers = ask(snapshot_of({answers_alone}));
    ASSERT_THAT(alarms(answers), ElementsAre("bandwidth:loss_after_tap"));
    EXPECT_THAT(answers[0].summary, HasSubstr("Packets from 192.0.2.1 to 192.0.2.2 were lost"));
    EXPECT_THAT(answers[0].summary, HasSubstr("192.0.2.2 asked for some again (6 times)"));
    EXPECT_THAT(answers[0].summary, HasSubstr("the side of the capture point where that happened is unknown"));
    EXPECT_THAT(answers[0].advice, HasSubstr("from 192.0.2.1 to 192.0.2.2"));
    EXPECT_DOUBLE_EQ(answers[0].confidence, 0.6);
    EXPECT_DOUBLE_EQ(answers[0].severity, 6.0 / 66);
    ASSERT_NE(evidence(answers[0], "sequence error NAKs"), nullptr);
    EXPECT_DOUBLE_EQ(evidence(answers[0], "sequence error NAKs")->value, 6);
    EXPECT_THAT(evidence(answers[0], "sequence error NAKs")->frames, ElementsAre(5, 16));
    EXPECT_EQ(about(answers, Question::congestion).verdict, Verdict::loss);
    EXPECT_THAT(about(answers, Question::congestion).summary, HasSubstr("from 192.0.2.1 to 192.0.2.2"));

    answers_alone.rnr_naks = 6;  // each of them makes what follows out of sequence
    EXPECT_THAT(alarms(ask(snapshot_of({answers_alone}))), ElementsAre("bandwidth:rnr"));
}

/// No NAK shows the 100 repeats; those that travel on the flow, while its partner is not known, are about another.
TEST(Repairs, NaksOfAnotherFlowExplainNoRepeats) {
    auto flow = healthy();
    flow.retransmitted_packets = 100;
    flow.timeouts = 3;
    set_state(flow, State::recover_timeout, 300'000'000);
    nak(flow, NakCode::psn_sequence_error, 8);
    const auto answers = ask(snapshot_of({flow}));
    ASSERT_THAT(alarms(answers), ElementsAre("bandwidth:timeout_recovery", "bandwidth:loss_after_tap"));
    EXPECT_THAT(answers[0].summary, HasSubstr("192.0.2.2 had to retransmit 100 packets from 192.0.2.2"));
    EXPECT_EQ(evidence(answers[0], "sequence error NAKs"), nullptr);
    EXPECT_THAT(answers[1].summary, HasSubstr("Packets from 192.0.2.1 to 192.0.2.2 were lost"));
    EXPECT_DOUBLE_EQ(answers[1].severity, 8.0 / 4000) << "its time is not the other's";
    EXPECT_EQ(evidence(answers[1], "packets retransmitted"), nullptr);
    flow.reverse = 2;
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), ElementsAre("bandwidth:loss_after_tap"));
}

/// An acknowledgement after it showed that a response was lost; its READ comes again, and the WRITE that followed.
TEST(Repairs, AnImpliedNakIsTheLossOfAResponse) {
    auto flow = healthy(1, 2, 1);
    flow.reverse = 2;
    flow.operations[metrics::index_of(metrics::Operation::read)].count = 1000;
    flow.retransmitted_packets = 40;
    set_state(flow, State::recover_nak, 100'000'000);
    auto responses = healthy(2, 1, 2);
    responses.reverse = 1;
    responses.operations = {};
    responses.missing_packets = 20;
    responses.retransmitted_packets = 20;
    EXPECT_THAT(alarms(ask(snapshot_of({flow, responses}))), ElementsAre("bandwidth:loss_before_tap"));
    flow.timeouts = 20;
    EXPECT_THAT(alarms(ask(snapshot_of({flow, responses}))),
                testing::UnorderedElementsAre("bandwidth:loss_before_tap", "bandwidth:timeout_recovery"));
}

TEST(Repairs, LatePacketsExplainNaksAndRepeats) {
    auto flow = paired();
    flow.reordered_packets = 300;
    flow.missing_packets = 5;
    flow.retransmitted_packets = 2000;
    nak(flow, NakCode::psn_sequence_error, 60);
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), ElementsAre("bandwidth:reordering"));
}

TEST(Repairs, AFewLatePacketsThatHurtNobodyAreNoAlarm) {
    auto flow = healthy();
    flow.reordered_packets = 3;
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), IsEmpty());
}

TEST(Repairs, ReceiverNotReadyExplainsTheNakBehindIt) {
    auto flow = paired();
    flow.rnr_naks = 1;
    flow.rnr_timer_ns.record(655'360'000);
    flow.retransmitted_packets = 2;
    nak(flow, NakCode::psn_sequence_error, 1);
    set_state(flow, State::rnr_wait, 400'000'000);
    set_state(flow, State::application_in_flight, 100'000'000);
    add_event(flow, EventKind::rnr_nak, {6}, 1, 655'360'000);
    const auto answers = ask(snapshot_of({flow}));
    ASSERT_THAT(alarms(answers), ElementsAre("bandwidth:rnr"));
    EXPECT_THAT(answers[0].summary, HasSubstr("400 ms"));
    EXPECT_THAT(answers[0].advice, HasSubstr("655 ms"));
    EXPECT_EQ(about(answers, Question::latency).verdict, Verdict::rnr);
}

TEST(Repairs, DamagedPacketsExplainTheRepeats) {
    auto flow = healthy();
    flow.icrc_bad = 40;
    flow.retransmitted_packets = 40;
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), ElementsAre("bandwidth:corruption"));
}

TEST(Repairs, ChecksumsThatAreAllBadWereNotThereYet) {
    auto flow = healthy();
    flow.icrc_bad = 4000;
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), IsEmpty());
}

TEST(Repairs, TimersAloneAreTimeouts) {
    auto flow = healthy();
    flow.retransmitted_packets = 3;
    flow.timeouts = 3;
    set_state(flow, State::recover_timeout, 100'000'000);
    add_event(flow, EventKind::timeout, {10, 20, 30});
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), ElementsAre("bandwidth:timeout_recovery"));
}

TEST(Repairs, ATailLossProbeIsNoAlarm) {
    auto flow = healthy();
    flow.transport = wire::Transport::iwarp;
    flow.retransmitted_packets = 1;
    flow.timeouts = 1;
    flow.tcp.emplace();
    flow.tcp->retransmitted_segments = 1;
    flow.tcp->duplicate_acks = 1;
    flow.tcp->sack_blocks = 1;
    add_event(flow, EventKind::retransmission, {126}, 1, 1);
    add_event(flow, EventKind::timeout, {126});
    set_state(flow, State::recover_timeout, 40'000'000);
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), IsEmpty());
    flow.tcp->sack_blocks = 0;  // the peer did not say that it had it
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), ElementsAre("bandwidth:timeout_recovery"));
    flow.timeouts = 0;  // nor did a timer run out: duplicate acknowledgements asked for it
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), ElementsAre("bandwidth:loss_after_tap"));
}

TEST(Repairs, LateSegmentsOfTcpThatCostNextToNothingAreNoAlarm) {
    auto flow = healthy();  // 4000 packets
    flow.transport = wire::Transport::iwarp;
    flow.reordered_packets = 39;
    flow.retransmitted_packets = 4;
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), ElementsAre("bandwidth:reordering")) << "RC: 1 in 1000 repeated";
    flow.tcp.emplace();
    flow.tcp->retransmitted_segments = 4;
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), IsEmpty());
    flow.reordered_packets = 40;  // 1 %
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), ElementsAre("bandwidth:reordering"));
}

/// 60 repeats, in as many runs; all but 10 of them were sent because the window was closed, and repaired nothing.
TEST(Repairs, ProbesOfAWindowAreNoRepairs) {
    auto flow = healthy();
    flow.transport = wire::Transport::iwarp;
    flow.retransmitted_packets = 60;
    flow.tcp.emplace();
    flow.tcp->retransmitted_segments = 60;
    add_event(flow, EventKind::retransmission, {126}, 60, 0);
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), IsEmpty());
    flow.reordered_packets = 3;
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), IsEmpty()) << "late packets without a repeat";
    flow.reordered_packets.reset();
    flow.event_summaries.clear();
    add_event(flow, EventKind::retransmission, {126}, 60, 10);
    const auto answers = ask(snapshot_of({flow}));
    ASSERT_THAT(alarms(answers), ElementsAre("bandwidth:loss_after_tap"));
    EXPECT_DOUBLE_EQ(evidence(answers[0], "packets retransmitted")->value, 10.0);
}

TEST(Repairs, ResponsesThatWereAskedForTwiceByATimerAreTheTimers) {
    auto requests = healthy(1);
    requests.operations = {};
    requests.operations[metrics::index_of(metrics::Operation::fetch_add)].count = 500;
    requests.payload_bytes = 0;
    requests.retransmitted_packets = 100;
    requests.timeouts = 1;
    requests.reverse = 2;
    auto responses = healthy(2, 1, 2);
    responses.operations = {};
    responses.reverse = 1;
    responses.retransmitted_packets = 100;
    const auto answers = ask(snapshot_of({requests, responses}));
    ASSERT_THAT(alarms(answers), ElementsAre("bandwidth:timeout_recovery"));
    EXPECT_THAT(answers[0].flows, ElementsAre(1));
    EXPECT_THAT(answers[0].summary, HasSubstr("its timer ran out too early (1 time-out)")) << "nobody waited for it";
    requests.state_ns[metrics::index_of(metrics::State::recover_timeout)] =
        100'000;  // of an adapter, half a ms or more
    EXPECT_THAT(ask(snapshot_of({requests, responses}))[0].summary, HasSubstr("no answer came in time (1 time-out)"));
}

TEST(Repairs, RepeatedReadsAreTheResponsesLoss) {
    auto reads = healthy(1);
    reads.operations = {};
    reads.operations[metrics::index_of(metrics::Operation::read)].count = 1000;
    reads.payload_bytes = 0;
    reads.retransmitted_packets = 4;
    reads.reverse = 2;
    auto responses = healthy(2, 1, 2);
    responses.operations = {};
    responses.reverse = 1;
    responses.missing_packets = 4;
    responses.retransmitted_packets = 12;
    const auto answers = ask(snapshot_of({reads, responses}));
    ASSERT_THAT(alarms(answers), ElementsAre("bandwidth:loss_before_tap"));
    EXPECT_THAT(answers[0].flows, ElementsAre(2));
}

TEST(Repairs, TheSameIllnessBetweenTheSameHostsIsOneFindingWorstFirst) {
    auto mild = healthy(1);
    mild.missing_packets = 4;
    mild.retransmitted_packets = 40;
    auto severe = healthy(2);
    severe.missing_packets = 40;
    severe.retransmitted_packets = 400;
    auto elsewhere = healthy(3, 2, 7);
    elsewhere.missing_packets = 1;
    elsewhere.retransmitted_packets = 4;
    const auto answers = ask(snapshot_of({mild, severe, elsewhere}));
    ASSERT_THAT(alarms(answers), ElementsAre("bandwidth:loss_before_tap", "bandwidth:loss_before_tap"));
    EXPECT_THAT(answers[0].flows, ElementsAre(2, 1));
    EXPECT_THAT(answers[0].summary, HasSubstr("44 of 8,044 packets"));
    EXPECT_THAT(answers[0].summary, HasSubstr("(2 flows)"));
    EXPECT_THAT(answers[1].flows, ElementsAre(3));
    EXPECT_GT(answers[0].severity, answers[1].severity);
}

TEST(Repairs, ALapseOfTheProtocolComesAfterTheLossThatShowedIt) {
    auto flow = healthy();
    flow.missing_packets = 1;
    flow.retransmitted_packets = 2000;
    add_event(flow, EventKind::go_back_wrong_start, {77}, 1, 3);
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))),
                ElementsAre("bandwidth:loss_before_tap", "bandwidth:go_back_n_violation"));
}

TEST(Repairs, AsForOneFlowTheOthersAreSilent) {
    auto sick = healthy(1);
    sick.missing_packets = 40;
    const std::uint64_t well = 2;
    EXPECT_THAT(alarms(ask(snapshot_of({sick, healthy(2)}), &well)), IsEmpty());
    const std::uint64_t ill = 1;
    EXPECT_THAT(alarms(ask(snapshot_of({sick, healthy(2)}), &ill)), ElementsAre("bandwidth:loss_before_tap"));
}

TEST(Repairs, NamesStandBeforeAddresses) {
    auto flow = healthy();
    flow.missing_packets = 40;
    const auto answers = metrics::answer(snapshot_of({flow}), TwoNames{});
    EXPECT_THAT(answers[0].summary,
                HasSubstr("from client (192.0.2.2, qp 0x000012) to server (192.0.2.1, qp 0x000011)"));
}

/// Whatever goes wrong on a TCP connection, advice never names counters and settings that only RoCE has, nor the other
/// way round.
TEST(Repairs, AdviceFitsTheTransport) {
    using Change = void (*)(metrics::FlowSnapshot&);
    const std::pair<const char*, Change> illnesses[] = {
        {"bandwidth:loss_before_tap", [](auto& flow) { flow.missing_packets = 40; }},
        {"bandwidth:loss_after_tap", [](auto& flow) { flow.retransmitted_packets = 40; }},
        {"bandwidth:corruption", [](auto& flow) { flow.crc_bad = flow.icrc_bad = 40; }},
        {"bandwidth:timeout_recovery",
         [](auto& flow) {
             flow.retransmitted_packets = 40;
             flow.timeouts = 40;
             set_state(flow, metrics::State::recover_timeout, 400'000'000);
         }},
        {"congestion:marked", [](auto& flow) { flow.ecn_capable_packets = flow.ecn_ce_packets = 4000; }},
    };
    for (const auto& [alarm, change] : illnesses)
        for (const bool iwarp : {true, false}) {
            auto flow = healthy();
            change(flow);
            if (iwarp) {
                flow.transport = wire::Transport::iwarp;
                flow.icrc_bad = 0;
                flow.tcp.emplace();
            }
            const auto answers = ask(snapshot_of({flow}));
            ASSERT_THAT(alarms(answers), ElementsAre(alarm));
            if (!iwarp) {
                EXPECT_THAT(answers[0].advice, Not(HasSubstr("TCP"))) << alarm;
                continue;
            }
            for (const auto& answer : answers)
                for (const char* foreign : {"roce", "icrc", "CNP", "cnp", "DCQCN", "PFC", "QP in state"})
                    EXPECT_THAT(answer.advice, Not(HasSubstr(foreign))) << alarm;
        }
}

TEST(Repairs, CountersOfAReceiverThatIsNotReadyStandOnTheirOwnHosts) {
    auto flow = healthy();
    flow.rnr_naks = 5;
    flow.reverse = 2;
    auto back = healthy(2, 1, 2);
    back.reverse = 1;
    const std::string advice = ask(snapshot_of({flow, back}))[0].advice;
    EXPECT_THAT(advice, HasSubstr("On 192.0.2.1 post receives earlier"));
    EXPECT_THAT(advice, HasSubstr("out_of_buffer there, and rnr_nak_retry_err on 192.0.2.2,"));
}

/// Of two flows from .2 to .1, the RNR NAKs of one are .1's, about its own messages; those of the other, whose partner
/// was not found, travelled on it: .2 sent them, about messages of .1.
TEST(Repairs, ReceiversThatAreNotReadyOnBothSidesAreAskedEachForItsOwn) {
    auto first = healthy(1);
    first.rnr_naks = 5;
    first.rnr_timer_ns.record(655'360'000, 5);
    auto second = healthy(2);
    second.rnr_naks = 3;
    second.rnr_timer_ns.record(10'240'000, 3);
    set_state(second, State::rnr_wait, 400'000'000);
    set_state(second, State::application_in_flight, 100'000'000);
    second.reverse = 9;
    const auto answers = ask(snapshot_of({first, second}));
    ASSERT_THAT(alarms(answers), ElementsAre("bandwidth:rnr", "bandwidth:rnr"));
    EXPECT_THAT(answers[0].flows, ElementsAre(2));
    EXPECT_THAT(answers[0].summary,
                HasSubstr("192.0.2.1 was not ready: it refused messages from 192.0.2.2 (qp 0x000012) to 192.0.2.1"));
    EXPECT_THAT(answers[0].summary, HasSubstr("3 times, and the sender waited 400 ms for it (40 % of its busy time)."));
    EXPECT_THAT(answers[0].advice, HasSubstr("On 192.0.2.1 post receives"));
    EXPECT_THAT(answers[0].advice, HasSubstr("10.2 ms"));
    EXPECT_THAT(answers[1].flows, ElementsAre(1));
    EXPECT_THAT(answers[1].summary,
                HasSubstr("192.0.2.2 was not ready: it refused messages from 192.0.2.1 to 192.0.2.2 "
                          "5 times; how long the sender waited for it is unknown"));
    EXPECT_THAT(answers[1].advice, HasSubstr("On 192.0.2.2 post receives"));
    EXPECT_THAT(answers[1].advice, HasSubstr("655 ms"));
    EXPECT_EQ(about(answers, Question::latency).flows.front(), 2);
}

/// What it carries about another flow does not hide what a flow suffers itself.
TEST(Repairs, AnotherFlowsReceiverThatIsNotReadyHidesNoLoss) {
    auto flow = healthy();
    flow.missing_packets = 8;
    flow.retransmitted_packets = 40;
    flow.rnr_naks = 20;
    add_event(flow, EventKind::rnr_nak, {7}, 20);
    const auto answers = ask(snapshot_of({flow}));
    ASSERT_THAT(alarms(answers), testing::UnorderedElementsAre("bandwidth:rnr", "bandwidth:loss_before_tap"));
    const auto& lost = answers[answers[0].verdict == Verdict::rnr ? 1 : 0];
    EXPECT_EQ(evidence(lost, "receiver-not-ready NAKs"), nullptr);
    EXPECT_EQ(about(answers, Question::latency).verdict, Verdict::retransmission)
        << "others' messages waited for receives";
}

}  // namespace
