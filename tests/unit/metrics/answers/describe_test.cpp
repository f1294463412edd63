// What is said where nothing is wrong, and the alarms of the other questions.
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

struct StateCase {
    State state;
    Verdict verdict;
};
class Binding : public testing::TestWithParam<StateCase> {};

TEST_P(Binding, TheStateThatTakesMostTimeNamesTheVerdict) {
    auto flow = healthy();
    flow.state_ns = {};
    set_state(flow, State::transmit_new, 100'000'000);
    set_state(flow, GetParam().state, 900'000'000);
    const auto answers = ask(snapshot_of({flow}));
    EXPECT_THAT(alarms(answers), IsEmpty());
    EXPECT_EQ(about(answers, Question::bandwidth).verdict, GetParam().verdict);
    const auto* share =
        evidence(about(answers, Question::bandwidth), "time in " + std::string(metrics::name_of(GetParam().state)));
    ASSERT_NE(share, nullptr);
    EXPECT_DOUBLE_EQ(share->value, 0.9);
}
INSTANTIATE_TEST_SUITE_P(States, Binding,
                         testing::Values(StateCase{State::unobserved, Verdict::undecidable},
                                         StateCase{State::read_window, Verdict::read_depth},
                                         StateCase{State::credit, Verdict::credit},
                                         StateCase{State::ack_window, Verdict::window_too_small},
                                         StateCase{State::link_shared, Verdict::link_shared},
                                         StateCase{State::congestion_paced, Verdict::congestion_paced},
                                         StateCase{State::nic_stall, Verdict::nic_stall},
                                         StateCase{State::application_in_flight, Verdict::application_depth},
                                         StateCase{State::peer_wait, Verdict::peer_wait},
                                         StateCase{State::application_idle, Verdict::application_idle}));

const metrics::Answer bandwidth_of(const metrics::FlowSnapshot& flow) {
    return about(ask(snapshot_of({flow})), Question::bandwidth);
}

/// The accepting side must have an FPDU before it sends one: both may wait for ever. RFC 5044, 7.1.2.
TEST(Bandwidth, ConnectionsOnWhichNobodySpeaksFirst) {
    metrics::FlowSnapshot flow;
    flow.transport = wire::Transport::iwarp;
    flow.packets = 4;
    flow.connection->setup_ns = 1'000'000;
    const auto silent = bandwidth_of(flow);
    EXPECT_EQ(silent.verdict, Verdict::undecidable);
    EXPECT_THAT(silent.summary, HasSubstr("neither side sent anything on them"));
    EXPECT_THAT(silent.advice, HasSubstr("peer-to-peer"));

    const auto is_told = [](const metrics::FlowSnapshot& of) {
        return bandwidth_of(of).summary.find("neither side sent anything") != std::string::npos;
    };
    auto other = flow;
    other.connection->setup_ns.reset();
    EXPECT_FALSE(is_told(other)) << "asked for and not answered";
    other = flow;
    other.connection->end_kind = metrics::EndKind::mpa_rejected;
    EXPECT_FALSE(is_told(other));
    other = flow;
    other.terminates = 1;
    EXPECT_FALSE(is_told(other));
    other = flow;
    other.transport = wire::Transport::roce2;
    EXPECT_FALSE(is_told(other));
    other = flow;
    other.operations[metrics::index_of(metrics::Operation::write)].count = 1;
    EXPECT_FALSE(is_told(other)) << "a ready-to-receive message has no octets";
}

TEST(Bandwidth, AFullLink) {
    auto flow = healthy();
    flow.state_ns = {};
    set_state(flow, State::transmit_new, 950'000'000);
    set_state(flow, State::application_idle, 50'000'000);
    flow.link_bits_per_sec = 10'000'000;
    const auto answer = bandwidth_of(flow);
    EXPECT_EQ(answer.verdict, Verdict::link_full);
    EXPECT_THAT(answer.summary, HasSubstr("at 10.0 Mbit/s"));
}

TEST(Bandwidth, TheWindowsBoundIsOctetsByRoundTrip) {
    auto flow = healthy();
    flow.state_ns = {};
    set_state(flow, State::ack_window, 1'000'000'000);
    const auto answer = bandwidth_of(flow);
    EXPECT_EQ(answer.verdict, Verdict::window_too_small);
    const auto* bound = evidence(answer, "possible with this window");
    ASSERT_NE(bound, nullptr);
    EXPECT_DOUBLE_EQ(bound->value, 40'960 / 100e-6);
    EXPECT_THAT(answer.summary, HasSubstr("3.28 Gbit/s"));  // 409.6 MB/s
}

/// 0.2 messages outstanding of 10, and 90 % of the time named a window: what is seen here does not show it.
TEST(Bandwidth, AWindowThatIsNotSeenMayBeAPace) {
    auto flow = healthy();
    flow.state_ns = {};
    set_state(flow, State::transmit_new, 100'000'000);
    set_state(flow, State::ack_window, 900'000'000);
    flow.messages_mean = 0.2;
    const auto answer = bandwidth_of(flow);
    EXPECT_EQ(answer.verdict, Verdict::paced_or_window);
    EXPECT_THAT(answer.summary, HasSubstr("paces itself"));
    EXPECT_THAT(answer.summary, HasSubstr("cannot be seen from here"));
    EXPECT_THAT(answer.advice, Not(HasSubstr("depth")));
    EXPECT_EQ(evidence(answer, "possible with this window"), nullptr);
}

TEST(Bandwidth, NothingOutstandingIsIdle) {
    auto flow = healthy();
    flow.state_ns = {};
    set_state(flow, State::application_in_flight, 600'000'000);
    set_state(flow, State::application_idle, 400'000'000);
    EXPECT_EQ(bandwidth_of(flow).verdict, Verdict::application_depth);
    flow.messages_mean = 0.005;
    const auto answer = bandwidth_of(flow);
    EXPECT_EQ(answer.verdict, Verdict::application_idle);
    EXPECT_THAT(answer.summary, HasSubstr("100 % of the time"));
}

TEST(Bandwidth, SmallMessagesInAPipelineAreWhatTheyCost) {
    auto flow = healthy();
    flow.operations[metrics::index_of(metrics::Operation::write)].bytes = 64'000;
    EXPECT_EQ(bandwidth_of(flow).verdict, Verdict::small_messages);
    flow.messages_max = 1;  // not a pipeline: a dialogue or a lazy program
    EXPECT_EQ(bandwidth_of(flow).verdict, Verdict::application_depth);
}

TEST(Bandwidth, AShutReceiveWindowAlarmsAFullOneDoesNot) {
    auto flow = healthy();
    flow.transport = wire::Transport::iwarp;
    flow.tcp.emplace();
    flow.state_ns = {};
    set_state(flow, State::credit, 600'000'000);
    set_state(flow, State::transmit_new, 400'000'000);
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), IsEmpty());
    EXPECT_EQ(bandwidth_of(flow).verdict, Verdict::receive_window);
    flow.tcp->zero_windows = 3;
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), ElementsAre("bandwidth:receive_window"));

    flow.tcp->zero_windows = 0;
    flow.tcp->mss = 1460;
    flow.tcp->receive_window_min = 730;  // half a segment can still be sent
    flow.tcp->receive_window_max = 65'535;
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), IsEmpty());
    flow.tcp->receive_window_min = 729;
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), ElementsAre("bandwidth:receive_window"));
    const auto answer = bandwidth_of(flow);
    const auto* least = evidence(answer, "receive window, least");
    const auto* most = evidence(answer, "receive window, most");
    ASSERT_TRUE(least != nullptr && most != nullptr);
    EXPECT_EQ(least->value, 729);
    EXPECT_EQ(most->value, 65'535);
    EXPECT_THAT(answer.advice, HasSubstr("does not read")) << "no larger buffer mends that";
    EXPECT_EQ(evidence(answer, "possible with this window"), nullptr) << "what was outstanding is TCP's doing";
}

TEST(Bandwidth, NearTheReceiverIdlenessBetweenStallsIsTheSendersToo) {
    auto flow = healthy();
    flow.state_ns = {};
    set_state(flow, State::nic_stall, 430'000'000);
    set_state(flow, State::application_idle, 570'000'000);
    EXPECT_EQ(bandwidth_of(flow).verdict, Verdict::nic_stall);
    flow.vantage = metrics::Vantage::sender;
    EXPECT_EQ(bandwidth_of(flow).verdict, Verdict::application_idle);
}

TEST(Bandwidth, ALearntRateMakesJitterLookLikeStalls) {
    auto flow = healthy();
    flow.state_ns = {};
    set_state(flow, State::transmit_new, 600'000'000);
    set_state(flow, State::nic_stall, 360'000'000);
    set_state(flow, State::application_idle, 40'000'000);
    EXPECT_EQ(bandwidth_of(flow).verdict, Verdict::link_full);
}

/// One direction alone: nothing shows what is outstanding, however many messages have passed.
metrics::FlowSnapshot one_sided() {
    auto flow = healthy();
    flow.operations[metrics::index_of(metrics::Operation::write)].latency_ns = {};
    flow.round_trip_min_ns.reset();
    flow.vantage = metrics::Vantage::unknown;
    flow.messages_mean = 500;  // none of the 1000 was ever acknowledged
    flow.messages_max = 1000;
    flow.state_ns = {};
    set_state(flow, State::transmit_new, 100'000'000);
    return flow;
}

TEST(Bandwidth, WithoutAcknowledgementsNobodyKnowsWhatIsWaitedFor) {
    for (const State state : {State::read_window, State::credit, State::ack_window, State::application_in_flight,
                              State::peer_wait, State::application_idle}) {
        auto flow = one_sided();
        set_state(flow, state, 900'000'000);
        const auto answer = bandwidth_of(flow);
        EXPECT_EQ(answer.verdict, Verdict::undecidable) << name_of(state);
        EXPECT_EQ(answer.confidence, 0);
        EXPECT_THAT(answer.summary, HasSubstr("32.8 Mbit/s"));  // 4,096,000 octets in a second
        EXPECT_THAT(answer.summary, HasSubstr("90 % of the time passes between messages"));
        EXPECT_THAT(answer.summary, HasSubstr("the other direction is not in the capture"));
        EXPECT_THAT(answer.advice, HasSubstr("Capture both directions"));
        for (const char* depth : {"messages outstanding, mean", "messages outstanding, most"})
            EXPECT_EQ(evidence(answer, depth), nullptr);
        EXPECT_EQ(evidence(answer, "time in " + std::string(name_of(state))), nullptr);
        ASSERT_NE(evidence(answer, "time between messages"), nullptr);
        EXPECT_DOUBLE_EQ(evidence(answer, "time between messages")->value, 0.9);
    }
}

/// How the time between messages is divided is not known either: two small parts of it may be one large one.
TEST(Bandwidth, WithoutAcknowledgementsTimeBetweenMessagesIsOne) {
    auto flow = one_sided();
    set_state(flow, State::application_in_flight, 200'000'000);
    set_state(flow, State::application_idle, 200'000'000);
    set_state(flow, State::nic_stall, 300'000'000);
    EXPECT_EQ(bandwidth_of(flow).verdict, Verdict::undecidable);
    set_state(flow, State::nic_stall, 401'000'000);
    EXPECT_EQ(bandwidth_of(flow).verdict, Verdict::nic_stall);
    set_state(flow, State::nic_stall, 300'000'000);
    flow.vantage = metrics::Vantage::receiver;  // as above
    EXPECT_EQ(bandwidth_of(flow).verdict, Verdict::nic_stall);
}

TEST(Bandwidth, WithoutAcknowledgementsGapsInsideMessagesStand) {
    for (const auto& [state, verdict] :
         {std::pair{State::link_shared, Verdict::link_shared},
          std::pair{State::congestion_paced, Verdict::congestion_paced},
          std::pair{State::nic_stall, Verdict::nic_stall}, std::pair{State::transmit_new, Verdict::link_full}}) {
        auto flow = one_sided();
        set_state(flow, state, 900'000'000);
        EXPECT_EQ(bandwidth_of(flow).verdict, verdict);
    }
    EXPECT_EQ(bandwidth_of(one_sided()).verdict, Verdict::not_limited) << "a tenth sending, and nothing else";
}

/// Clocks that disagree keep the two halves apart: both are there.
TEST(Bandwidth, AnswersThatMatchNoFlowAreNotAbsent) {
    auto flow = one_sided();
    set_state(flow, State::application_idle, 900'000'000);
    auto answers = healthy(2, 1, 2);
    answers.operations = {};
    answers.payload_bytes = 0;
    const auto answer = about(ask(snapshot_of({flow, answers})), Question::bandwidth);
    EXPECT_EQ(answer.verdict, Verdict::undecidable);
    EXPECT_THAT(answer.summary, HasSubstr("could be matched"));
    EXPECT_THAT(answer.advice, HasSubstr("one clock"));
}

/// 4,096,000 octets of READ responses in a second; their requests went another way.
TEST(Bandwidth, ResponsesAloneAreTheirRequestersRate) {
    auto flow = healthy(1, 1, 2);
    flow.operations = {};
    flow.messages_mean = 0;
    flow.messages_max = 0;
    flow.state_ns = {};
    set_state(flow, State::transmit_new, 100'000'000);
    set_state(flow, State::application_idle, 900'000'000);
    const auto answer = bandwidth_of(flow);
    EXPECT_EQ(answer.verdict, Verdict::undecidable);
    EXPECT_THAT(answer.summary, HasSubstr("READ responses pass from 192.0.2.1"));
    EXPECT_THAT(answer.summary, HasSubstr("32.8 Mbit/s"));
    EXPECT_THAT(answer.summary, HasSubstr("whether 192.0.2.2 asks for too little or 192.0.2.1 answers late"));
    ASSERT_NE(evidence(answer, "payload that passed"), nullptr);
    EXPECT_DOUBLE_EQ(evidence(answer, "payload that passed")->value, 4'096'000);

    flow.reverse = 9;  // its requests were counted in an earlier interval
    const auto paired = bandwidth_of(flow);
    EXPECT_EQ(paired.verdict, Verdict::application_idle);
    EXPECT_THAT(paired.summary, HasSubstr("192.0.2.2 asks for too little"));
    EXPECT_THAT(paired.summary, HasSubstr("90 % of the time (32.8 Mbit/s)"));
}

TEST(Bandwidth, FewLongMessagesAreEnough) {
    auto flow = healthy();
    auto& writes = flow.operations[metrics::index_of(metrics::Operation::write)];
    writes.count = 7;
    EXPECT_NE(bandwidth_of(flow).verdict, Verdict::undecidable);
    flow.packets = 99;
    EXPECT_EQ(bandwidth_of(flow).verdict, Verdict::undecidable);
}

TEST(QpCache, ConnectionsAreCountedWhereRequestsAreNot) {
    const auto answers = ask(snapshot_of({healthy(1), healthy(2)}));
    EXPECT_EQ(about(answers, Question::qp_cache).verdict, Verdict::small_working_set);
    std::vector<metrics::FlowSnapshot> many;
    for (std::uint64_t id = 1; id <= 65; ++id) many.push_back(healthy(id));
    EXPECT_EQ(about(ask(snapshot_of(many)), Question::qp_cache).verdict, Verdict::undecidable);
}

TEST(Bandwidth, NothingToJudge) {
    const auto answers = ask(snapshot_of({}));
    ASSERT_EQ(answers.size(), metrics::usual_question_count);
    for (const auto& answer : answers) {
        EXPECT_EQ(answer.verdict, Verdict::undecidable);
        EXPECT_FALSE(answer.summary.empty());
        EXPECT_FALSE(answer.advice.empty());
    }
}

TEST(Latency, DistanceIsALeastRoundTripThatIsLong) {
    auto flow = healthy();
    auto& writes = flow.operations[metrics::index_of(metrics::Operation::write)];
    writes.latency_ns = {};
    writes.latency_ns.record(20'100'000, 30);
    writes.latency_ns.record(21'000'000, 30);
    flow.round_trip_min_ns = 20'100'000;
    const auto answers = ask(snapshot_of({flow}));
    ASSERT_THAT(alarms(answers), ElementsAre("latency:network_delay"));
    EXPECT_THAT(answers[0].summary, HasSubstr("20.1 ms"));
    EXPECT_THAT(answers[0].summary, HasSubstr("no queue"));
}

TEST(Latency, NineteenRoundTripsAreTooFewToTellDistance) {
    auto flow = healthy();
    flow.operations = {};
    flow.operations[metrics::index_of(metrics::Operation::write)].count = 20;
    auto& latency = flow.operations[metrics::index_of(metrics::Operation::write)].latency_ns;
    latency.record(8'000'000, 19);
    flow.round_trip_min_ns = 8'000'000;
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), IsEmpty());
    flow.operations[metrics::index_of(metrics::Operation::write)].latency_ns.record(8'000'000);
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), ElementsAre("latency:network_delay"));
}

TEST(Latency, AFewLongAnswersAreNoDistance) {
    auto flow = healthy();
    auto& writes = flow.operations[metrics::index_of(metrics::Operation::write)];
    writes.latency_ns = {};
    writes.latency_ns.record(20'100'000, 3);
    flow.round_trip_min_ns = 20'100'000;
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), IsEmpty());
}

TEST(Latency, QueuesMakeTheMedianAMultipleOfTheLeast) {
    auto flow = healthy();
    auto& writes = flow.operations[metrics::index_of(metrics::Operation::write)];
    writes.latency_ns = {};
    writes.latency_ns.record(100'000, 10);
    writes.latency_ns.record(1'000'000, 90);
    const auto answers = ask(snapshot_of({flow}));
    EXPECT_THAT(alarms(answers), IsEmpty());
    EXPECT_EQ(about(answers, Question::latency).verdict, Verdict::queueing);
    EXPECT_EQ(about(answers, Question::congestion).verdict, Verdict::queueing);
}

/// What is acknowledged sooner than READs return says nothing of queues that these would wait in.
TEST(Latency, IsComparedAmongMessagesThatAreAnsweredAlike) {
    auto flow = healthy();
    flow.messages_max = 8;
    flow.transport = wire::Transport::iwarp;
    auto& writes = flow.operations[metrics::index_of(metrics::Operation::write)];
    writes.latency_ns = {};
    writes.latency_ns.record(50'000, 60);
    auto& reads = flow.operations[metrics::index_of(metrics::Operation::read)];
    reads.count = 400;
    reads.latency_ns.record(500'000, 400);
    const auto steady = ask(snapshot_of({flow}));
    EXPECT_EQ(about(steady, Question::latency).verdict, Verdict::normal);
    EXPECT_EQ(about(steady, Question::congestion).verdict, Verdict::none);

    reads.latency_ns.record(2'000'000, 600);
    const auto queued = ask(snapshot_of({flow}));
    EXPECT_EQ(about(queued, Question::congestion).verdict, Verdict::queueing);
    EXPECT_THAT(about(queued, Question::latency).summary, HasSubstr("READs from"));
    EXPECT_THAT(about(queued, Question::latency).summary, HasSubstr("take 4 times the least latency of 500 us"));
}

TEST(Latency, AResponderThatTakesLongerThanTheWay) {
    auto flow = healthy();
    auto& reads = flow.operations[metrics::index_of(metrics::Operation::read)];
    reads.count = 50;
    reads.latency_ns.record(900'000, 50);
    reads.first_response_ns.record(500'000, 50);  // against 100 us for an acknowledgement
    const auto answers = ask(snapshot_of({flow}));
    EXPECT_EQ(about(answers, Question::latency).verdict, Verdict::responder_slow);
    EXPECT_THAT(about(answers, Question::latency).summary, HasSubstr("5 times"));
}

/// One that stands still has few latencies or none; another's, however many, say nothing of it.
TEST(Latency, IsToldOfTheFlowThatRepairsHoldUp) {
    const auto undisturbed = healthy(1);
    auto held_up = healthy(2);
    held_up.operations[metrics::index_of(metrics::Operation::write)].latency_ns = {};
    held_up.retransmitted_packets = 8;
    held_up.timeouts = 2;
    held_up.state_ns = {};
    set_state(held_up, State::recover_timeout, 900'000'000);
    set_state(held_up, State::transmit_new, 100'000'000);
    const metrics::Answer answer = about(ask(snapshot_of({undisturbed, held_up})), Question::latency);
    EXPECT_EQ(answer.verdict, Verdict::retransmission);
    EXPECT_THAT(answer.flows, ElementsAre(2));
    EXPECT_THAT(answer.summary, HasSubstr("waited 900 ms for repairs; no other could be measured"));
}

TEST(QueueDepth, ReadsAtTheirLimit) {
    auto flow = healthy();
    flow.operations = {};
    auto& reads = flow.operations[metrics::index_of(metrics::Operation::read)];
    reads.count = 1000;
    reads.bytes = 4'096'000;
    reads.latency_ns.record(100'000, 1000);
    flow.connection->initiator_depth = 4;
    flow.messages_max = 4;
    flow.responses_max = 4;
    flow.messages_mean = 3.9;
    flow.state_ns = {};
    set_state(flow, State::read_window, 900'000'000);
    set_state(flow, State::transmit_new, 100'000'000);
    const auto answers = ask(snapshot_of({flow}));
    EXPECT_EQ(about(answers, Question::queue_depth).verdict, Verdict::at_limit);
    EXPECT_THAT(about(answers, Question::queue_depth).summary, HasSubstr("4 permitted (ORD)"));
    EXPECT_EQ(about(answers, Question::bandwidth).verdict, Verdict::read_depth);
    EXPECT_THAT(about(answers, Question::bandwidth).summary, HasSubstr("(ORD 4)"));

    // What was agreed on is not what is kept, or it is unknown what it was.
    flow.connection->initiator_depth = 2;
    const auto beyond = ask(snapshot_of({flow}));
    EXPECT_THAT(about(beyond, Question::bandwidth).summary, HasSubstr("(4, though ORD 2 was agreed on)"));
    EXPECT_THAT(about(beyond, Question::queue_depth).summary, HasSubstr("4 at most, 2 permitted (ORD)"));
    flow.connection->initiator_depth.reset();
    EXPECT_THAT(bandwidth_of(flow).summary, HasSubstr("(4, the most that was seen)"));
}

TEST(QueueDepth, MostlyEmpty) {
    auto flow = healthy();
    flow.messages_max = 100;
    EXPECT_EQ(about(ask(snapshot_of({flow})), Question::queue_depth).verdict, Verdict::underused);
}

/// Of a connection of which a third cannot be read, nothing that counts messages is known.
TEST(PartlyRead, NothingIsSaidOfItsMessages) {
    auto flow = healthy();
    flow.transport = wire::Transport::iwarp;
    flow.operations[metrics::index_of(metrics::Operation::write)].latency_ns.record(5'000'000, 5'000);  // a queue
    flow.tcp.emplace().connection_bytes = 6'000'000;
    flow.tcp->unread_bytes = 120'000;  // 2 %
    EXPECT_EQ(about(ask(snapshot_of({flow})), Question::congestion).verdict, Verdict::queueing);
    EXPECT_NE(bandwidth_of(flow).verdict, Verdict::undecidable);

    // Few were read: that is no word on how many there were.
    auto few = flow;
    few.operations = {};
    few.packets = 5;
    EXPECT_NE(bandwidth_of(few).summary.find("Too little was sent"), std::string::npos);
    few.tcp->unread_bytes = 2'000'000;
    EXPECT_NE(bandwidth_of(few).summary.find("33.3 % of the bytes"), std::string::npos);

    flow.tcp->unread_bytes = 2'000'000;
    auto snapshot = snapshot_of({flow});
    for (const std::uint64_t cut : {0u, 4000u}) {
        snapshot.capture.truncated = cut;
        const auto answers = ask(snapshot);
        for (const Question question : {Question::bandwidth, Question::latency, Question::queue_depth}) {
            EXPECT_EQ(about(answers, question).verdict, Verdict::undecidable);
            EXPECT_FALSE(about(answers, question).alarm);
            EXPECT_EQ(about(answers, question).advice.find("-s 0") != std::string::npos, cut != 0);
        }
        EXPECT_EQ(about(answers, Question::congestion).verdict, Verdict::none);
        EXPECT_THAT(about(answers, Question::bandwidth).summary, HasSubstr("33.3 % of the bytes"));
        EXPECT_THAT(about(answers, Question::queue_depth).summary, HasSubstr("could not be read"));
    }
}

TEST(QueueDepth, DatagramsTellNothing) {
    auto flow = healthy();
    flow.service = metrics::Service::ud;
    EXPECT_EQ(about(ask(snapshot_of({flow})), Question::queue_depth).verdict, Verdict::undecidable);
}

/// Turnaround of 2 us up to `knee` and 4 us beyond.
metrics::HostSnapshot host_with(double knee, std::uint64_t queue_pairs) {
    metrics::HostSnapshot host;
    host.address = ipv4(1);
    host.received_requests = 100'000;
    host.queue_pairs.accesses = 100'000;
    host.queue_pairs.distinct = queue_pairs;
    for (double distance = 1; distance <= static_cast<double>(queue_pairs); distance *= 2) {
        metrics::ReuseBin bin;
        bin.count = 1000;
        bin.distance = distance;
        bin.turnaround_ns.record(distance <= knee ? 2000 : 4000, 1000);
        host.queue_pairs.bins.push_back(bin);
    }
    return host;
}

const metrics::Answer cache_of(const metrics::HostSnapshot& host) {
    auto snapshot = snapshot_of({healthy()});
    snapshot.hosts.push_back(host);
    return about(ask(snapshot), Question::qp_cache);
}

TEST(QpCache, AStepInTheTurnaroundIsTheCachesEnd) {
    const auto answer = cache_of(host_with(256, 1024));  // distances 1 to 1024: 9 bins within, 2 beyond
    EXPECT_EQ(answer.verdict, Verdict::thrashing);
    EXPECT_TRUE(answer.alarm);
    EXPECT_DOUBLE_EQ(evidence(answer, "cache holds at least")->value, 256);
    EXPECT_DOUBLE_EQ(evidence(answer, "and fewer than")->value, 512);
    EXPECT_DOUBLE_EQ(evidence(answer, "requests beyond")->value, 2.0 / 11);
}

TEST(QpCache, NoStepNoKnee) { EXPECT_EQ(cache_of(host_with(1e9, 1024)).verdict, Verdict::no_knee); }

TEST(QpCache, AFewQueuePairsFitAnywhere) { EXPECT_EQ(cache_of(host_with(2, 16)).verdict, Verdict::small_working_set); }

/// What sets up connections asks for something, too, and needs no queue pair's entry.
TEST(QpCache, ManagementIsNoRequestToAQueuePair) {
    metrics::HostSnapshot host;
    host.address = ipv4(1);
    host.received_requests = 2;
    metrics::Snapshot snapshot = snapshot_of({});
    snapshot.hosts.push_back(host);
    EXPECT_EQ(about(ask(snapshot), Question::qp_cache).verdict, Verdict::undecidable);
}

TEST(QpCache, TooFewAnswersToTell) {
    auto host = host_with(256, 1024);
    for (auto& bin : host.queue_pairs.bins) {
        bin.turnaround_ns = {};
        bin.turnaround_ns.record(2000, 3);
    }
    EXPECT_EQ(cache_of(host).verdict, Verdict::undecidable);
}

}  // namespace
