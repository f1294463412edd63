// The question about paths: which entropy loses, what disorder costs, and when nothing can be told.
#include <array>
#include <gmock/gmock.h>

#include "metrics/answers/path_levels.h"
#include "metrics/answers/path_pairs.h"
#include "support.h"

namespace {

using namespace why_test;
using metrics::Entropy;
using metrics::EventKind;
using metrics::PathProblem;
using metrics::Question;
using metrics::ReceiverClass;
using metrics::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A flow with 20,000 packets of this port, and losses of one packet each.
metrics::FlowSnapshot on_port(std::uint16_t port, std::uint64_t losses = 0, std::uint8_t from = 2,
                              std::uint8_t to = 1) {
    metrics::FlowSnapshot flow = healthy(port, from, to);
    flow.packets = 20'000;
    flow.wire_bytes = 20'000'000;
    flow.entropy = Entropy::of_udp(port);
    if (losses == 0) return flow;
    flow.retransmitted_packets = losses;
    flow.path = metrics::PathFigures{};
    flow.path->loss_episodes = losses;
    add_event(flow, EventKind::retransmission, {port + 100UL}, losses);
    return flow;
}

std::vector<metrics::FlowSnapshot> eight_ports(std::uint64_t losses_of_first) {
    std::vector<metrics::FlowSnapshot> flows{on_port(50'000, losses_of_first)};
    for (std::uint16_t port = 50'001; port < 50'008; ++port) flows.push_back(on_port(port));
    return flows;
}

const metrics::Answer* answer_with(const std::vector<metrics::Answer>& answers, Verdict verdict) {
    for (const metrics::Answer& answer : answers)
        if (answer.question == Question::path && answer.verdict == verdict) return &answer;
    return nullptr;
}

TEST(PathQuestion, IsNotAskedAboutOneEntropy) {
    for (const metrics::Answer& answer : ask(snapshot_of({on_port(50'000)})))
        EXPECT_NE(answer.question, Question::path);
}

TEST(PathQuestion, NamesTheEntropyThatLoses) {
    const auto answers = ask(snapshot_of(eight_ports(5)));
    const metrics::Answer* const answer = answer_with(answers, Verdict::path_sick);
    ASSERT_NE(answer, nullptr);
    EXPECT_TRUE(answer->alarm);
    EXPECT_THAT(answer->flows, ElementsAre(50'000));
    EXPECT_THAT(answer->summary, HasSubstr("UDP source port 50000 from 192.0.2.2 to 192.0.2.1"));
    EXPECT_THAT(answer->summary, HasSubstr("5 of 5 losses on 12.5 % of the packets"));
    // 8 entropies, each with the same probability of each of 5 losses: 8 * (1/8)^5.
    EXPECT_NEAR(evidence(*answer, "probability of this number by chance")->value, 8.0 / 32768, 1e-12);
    EXPECT_THAT(evidence(*answer, "losses on this path")->frames, ElementsAre(50'100));
}

TEST(PathQuestion, SaysWhatItNeeds) {
    // 4 episodes in 20,000 packets; the fifth decides.
    const auto answers = ask(snapshot_of(eight_ports(4)));
    const metrics::Answer* const answer = answer_with(answers, Verdict::undecidable);
    ASSERT_NE(answer, nullptr);
    EXPECT_FALSE(answer->alarm);
    EXPECT_THAT(answer->summary, HasSubstr("about 5,000 packets"));
}

TEST(PathQuestion, LossesOnAllPathsAreNoPath) {
    std::vector<metrics::FlowSnapshot> flows;
    for (std::uint16_t port = 50'000; port < 50'008; ++port) flows.push_back(on_port(port, 20));
    const auto answers = ask(snapshot_of(flows));
    EXPECT_EQ(answer_with(answers, Verdict::path_sick), nullptr);
    EXPECT_NE(answer_with(answers, Verdict::paths_alike), nullptr);
}

TEST(PathQuestion, SaysThatNothingWasLost) {
    const auto answers = ask(snapshot_of(eight_ports(0)));
    const metrics::Answer* const answer = answer_with(answers, Verdict::paths_alike);
    ASSERT_NE(answer, nullptr);
    EXPECT_EQ(answer->summary, "No loss was seen on any of 8 entropies from 192.0.2.2 to 192.0.2.1.");
}

/// The entropy of a packet that never passed is unknown: losses of a flow need not be those of an entropy.
TEST(PathQuestion, DeniesNoLossThatAFlowHas) {
    for (const auto member : {&metrics::FlowSnapshot::missing_packets, &metrics::FlowSnapshot::retransmitted_packets}) {
        auto flows = eight_ports(0);
        flows[3].*member = 1;
        EXPECT_EQ(answer_with(ask(snapshot_of(flows)), Verdict::paths_alike), nullptr);
    }
    auto flows = eight_ports(0);
    flows[3].reverse = 9;
    flows[3].naks[static_cast<std::size_t>(metrics::NakCode::psn_sequence_error)] = 1;
    EXPECT_EQ(answer_with(ask(snapshot_of(flows)), Verdict::paths_alike), nullptr);
}

TEST(PathQuestion, IsNotAskedWithinOneMachine) {
    const auto loopback = [](std::uint8_t last) {
        metrics::Address address;
        address.family = wire::AddressFamily::ipv4;
        std::ranges::copy(std::to_array<std::uint8_t>({127, 0, 0, last}), address.octets.begin());
        return address;
    };
    for (const std::uint64_t losses : std::to_array<std::uint64_t>({0, 5})) {
        auto flows = eight_ports(losses);
        for (metrics::FlowSnapshot& flow : flows) {
            flow.source.address = loopback(1);
            flow.destination.address = loopback(2);
        }
        for (const metrics::Answer& answer : ask(snapshot_of(flows))) EXPECT_NE(answer.question, Question::path);
        for (metrics::FlowSnapshot& flow : flows) flow.source.address = flow.destination.address = ipv4(1);
        for (const metrics::Answer& answer : ask(snapshot_of(flows))) EXPECT_NE(answer.question, Question::path);
    }
}

/// The same port between other hosts is another path.
TEST(PathPairs, AreNotAddedUp) {
    const auto pairs = metrics::path_pairs(snapshot_of({on_port(50'000, 0, 2, 1), on_port(50'000, 9, 3, 1)}));
    ASSERT_EQ(pairs.size(), 2U);
    for (const metrics::PathPair& pair : pairs) {
        EXPECT_EQ(pair.rows.size(), 1U);
        EXPECT_FALSE(pair.rows[0].p_loss) << "nothing to compare it with";
        EXPECT_EQ(pair.rows[0].problem, PathProblem::none);
    }
}

TEST(PathPairs, DividesAFlowAmongItsEntropies) {
    metrics::FlowSnapshot flow = on_port(50'000);
    flow.path = metrics::PathFigures{};
    flow.path->entropies = 2;
    flow.path->entropy_changes = 19'999;
    flow.path->rows = {{.entropy = Entropy::of_udp(50'000), .packets = 10'000, .wire_bytes = 15'000'000},
                       {.entropy = Entropy::of_udp(50'001), .packets = 10'000, .wire_bytes = 5'000'000}};
    const auto pairs = metrics::path_pairs(snapshot_of({flow, on_port(50'001)}));
    ASSERT_EQ(pairs.size(), 1U);
    EXPECT_EQ(pairs[0].entropies, 2U);
    EXPECT_EQ(pairs[0].entropy_changes, 19'999U);
    EXPECT_THAT(pairs[0].bytes(), ElementsAre(15'000'000, 25'000'000));
    EXPECT_THAT(pairs[0].rows[1].flows, ElementsAre(50'000, 50'001));
}

/// Hosts 2, 3 and 4 send to hosts 1 and 5; host 4 loses to both of them.
TEST(PathLevels, NameTheHost) {
    std::vector<metrics::FlowSnapshot> flows;
    for (const std::uint8_t from : std::to_array<std::uint8_t>({2, 3, 4, 6, 7, 8}))
        for (const std::uint8_t to : std::to_array<std::uint8_t>({1, 5}))
            flows.push_back(on_port(static_cast<std::uint16_t>(40'000 + 10 * from + to), from == 4 ? 12 : 0, from, to));
    const auto answers = ask(snapshot_of(flows));
    const metrics::Answer* const answer = answer_with(answers, Verdict::host_sick);
    ASSERT_NE(answer, nullptr);
    EXPECT_THAT(answer->summary, HasSubstr("192.0.2.4 sends to any host"));
    EXPECT_EQ(answer_with(answers, Verdict::path_sick), nullptr);
}

TEST(PathLevels, NameThePair) {
    std::vector<metrics::FlowSnapshot> flows;
    for (const std::uint8_t from : std::to_array<std::uint8_t>({2, 3, 4, 6, 7, 8}))
        for (const std::uint8_t to : std::to_array<std::uint8_t>({1, 5, 9, 10}))
            flows.push_back(
                on_port(static_cast<std::uint16_t>(40'000 + 20 * from + to), from == 4 && to == 5 ? 12 : 0, from, to));
    const auto answers = ask(snapshot_of(flows));
    const metrics::Answer* const answer = answer_with(answers, Verdict::pair_sick);
    ASSERT_NE(answer, nullptr);
    EXPECT_THAT(answer->summary, HasSubstr("All paths from 192.0.2.4 to 192.0.2.5"));
    EXPECT_EQ(answer_with(answers, Verdict::host_sick), nullptr);
}

metrics::FlowSnapshot with_marks(std::uint16_t port, std::uint64_t marked) {
    metrics::FlowSnapshot flow = on_port(port);
    flow.ecn_ce_packets = marked;
    return flow;
}

metrics::PathWindowFigures windows_of(std::uint16_t first_port) {
    metrics::PathWindowFigures windows;
    windows.source = ipv4(2);
    windows.destination = ipv4(1);
    for (std::uint16_t port = first_port; port < first_port + 4; ++port)
        windows.rows.push_back({.entropy = Entropy::of_udp(port)});
    return windows;
}

TEST(PathWindowTest, NamesTheEntropyThatIsMarked) {
    auto snapshot =
        snapshot_of({with_marks(50'000, 400), with_marks(50'001, 10), with_marks(50'002, 10), with_marks(50'003, 10)});
    metrics::PathWindowFigures windows = windows_of(50'000);
    windows.rows[0].marks = {30, 2};
    windows.rows[1].marks = {5, 20};
    snapshot.path_windows = {windows};
    const auto answers = ask(snapshot);
    const metrics::Answer* const answer = answer_with(answers, Verdict::path_marked);
    ASSERT_NE(answer, nullptr);
    EXPECT_TRUE(answer->alarm);
    EXPECT_THAT(answer->flows, ElementsAre(50'000));
    snapshot.path_windows[0].rows[0].marks = {12, 2};
    EXPECT_EQ(answer_with(ask(snapshot), Verdict::path_marked), nullptr) << "fewer than 20 windows";
    snapshot.path_windows[0].rows[0].marks = {30, 25};
    EXPECT_EQ(answer_with(ask(snapshot), Verdict::path_marked), nullptr) << "as chance would have it";
}

metrics::FlowSnapshot with_round_trips(std::uint16_t port, std::uint64_t least_ns, std::uint64_t usual_ns) {
    metrics::FlowSnapshot flow = on_port(port);
    metrics::OperationFigures& writes = flow.operations[metrics::index_of(metrics::Operation::write)];
    writes.latency_ns = {};
    writes.latency_ns.record(least_ns, 100);
    writes.latency_ns.record(usual_ns, 900);
    return flow;
}

TEST(PathWindowTest, TellsAQueueFromALongerWay) {
    for (const bool queue : {true, false}) {
        SCOPED_TRACE(queue);
        auto snapshot = snapshot_of({with_round_trips(50'000, queue ? 10'000 : 30'000, 32'000),
                                     with_round_trips(50'001, 10'000, 12'000), with_round_trips(50'002, 10'000, 12'000),
                                     with_round_trips(50'003, 10'000, 12'000)});
        metrics::PathWindowFigures windows = windows_of(50'000);
        windows.rows[0].delays = {100, 0};
        windows.rows[0].longer_ns.record(20'000, 100);
        snapshot.path_windows = {windows};
        const auto answers = ask(snapshot);
        const metrics::Answer* const answer = answer_with(answers, Verdict::path_slow);
        ASSERT_NE(answer, nullptr);
        EXPECT_EQ(answer->alarm, queue);
        EXPECT_THAT(answer->summary, HasSubstr(queue ? "a queue on the path" : "the path is longer"));
    }
}

TEST(PathWindowTest, TakesTheMedianOverAllWindows) {
    metrics::EntropyWindows windows;
    windows.delays = {60, 40};
    for (std::uint64_t i = 1; i <= 60; ++i) windows.longer_ns.record(1000 * i);
    // Of 100 differences, 40 are below 0: the 50th is the tenth of those above.
    EXPECT_NEAR(static_cast<double>(metrics::longer_by_ns(windows)), 10'000, 200);
    windows.delays = {60, 60};
    EXPECT_EQ(metrics::longer_by_ns(windows), 0U);
}

// ---- disorder ----

metrics::FlowSnapshot disordered(std::uint64_t late) {
    metrics::FlowSnapshot flow = healthy();  // 4000 packets
    flow.reverse = 9;
    flow.reordered_packets = late;
    return flow;
}

TEST(PathDisorder, WithoutHarmIsDescribed) {
    const auto answers = ask(snapshot_of({disordered(400)}));
    EXPECT_THAT(alarms(answers), IsEmpty());
    const metrics::Answer* const answer = answer_with(answers, Verdict::sprayed);
    ASSERT_NE(answer, nullptr);
    EXPECT_THAT(answer->summary, HasSubstr("400 of 4,000 packets (10 %)"));
    EXPECT_THAT(answer->summary, HasSubstr("the network spreads packets of one entropy"));
}

TEST(PathDisorder, OfAnAdapterThatSprays) {
    metrics::FlowSnapshot flow = disordered(400);
    flow.path = metrics::PathFigures{};
    flow.path->entropies = 4;
    flow.path->entropy_changes = 3000;
    const auto answers = ask(snapshot_of({flow}));
    ASSERT_NE(answer_with(answers, Verdict::sprayed), nullptr);
    EXPECT_THAT(answer_with(answers, Verdict::sprayed)->summary, HasSubstr("the adapter spreads packets"));
}

TEST(PathDisorder, WithHarmIsReordering) {
    metrics::FlowSnapshot repeated = disordered(400);
    repeated.retransmitted_packets = 40;
    metrics::FlowSnapshot refused = disordered(400);
    refused.naks[static_cast<std::size_t>(metrics::NakCode::psn_sequence_error)] = 40;
    metrics::FlowSnapshot doubled = disordered(400);
    doubled.duplicate_packets = 40;
    EXPECT_THAT(alarms(ask(snapshot_of({repeated}))), ElementsAre("bandwidth:reordering"));
    for (const metrics::FlowSnapshot& flow : {repeated, refused, doubled}) {
        const auto answers = ask(snapshot_of({flow}));
        EXPECT_EQ(about(answers, Question::bandwidth).verdict, Verdict::reordering);
        EXPECT_EQ(answer_with(answers, Verdict::sprayed), nullptr);
    }
}

TEST(PathDisorder, LittleHarmCountsByTheReceiver) {
    metrics::FlowSnapshot flow = disordered(400'000);
    flow.packets = 4'000'000;
    flow.retransmitted_packets = 40;  // 1 in 100,000
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), ElementsAre("bandwidth:reordering")) << "unknown receiver";
    flow.path = metrics::PathFigures{};
    flow.path->outcomes.placing = 50;
    const auto answers = ask(snapshot_of({flow}));
    EXPECT_THAT(alarms(answers), IsEmpty());
    ASSERT_NE(answer_with(answers, Verdict::sprayed), nullptr);
    EXPECT_THAT(answer_with(answers, Verdict::sprayed)->summary, HasSubstr("40 packets were sent again"));
}

TEST(PathReceiver, HasTheClassOfNearlyAllCases) {
    EXPECT_EQ(metrics::class_of({4, 0, 0}), ReceiverClass::unknown);
    EXPECT_EQ(metrics::class_of({5, 0, 0}), ReceiverClass::in_order);
    EXPECT_EQ(metrics::class_of({0, 5, 0}), ReceiverClass::selective);
    EXPECT_EQ(metrics::class_of({1, 0, 19}), ReceiverClass::placing);
    EXPECT_EQ(metrics::class_of({2, 0, 19}), ReceiverClass::unknown);
}

TEST(PathReceiver, ThatKeepsPacketsBreaksNoRule) {
    metrics::FlowSnapshot flow = disordered(0);
    flow.retransmitted_packets = 10;
    add_event(flow, EventKind::go_back_incomplete, {70, 80}, 10);
    EXPECT_THAT(alarms(ask(snapshot_of({flow}))), testing::Contains("bandwidth:go_back_n_violation"));
    flow.path = metrics::PathFigures{};
    flow.path->outcomes.selective = 10;
    const auto answers = ask(snapshot_of({flow}));
    EXPECT_THAT(alarms(answers), testing::Not(testing::Contains("bandwidth:go_back_n_violation")));
    ASSERT_NE(answer_with(answers, Verdict::selective_repeat), nullptr);
    EXPECT_THAT(answer_with(answers, Verdict::selective_repeat)->summary, HasSubstr("10 times"));
}

// ---- few entropies ----

TEST(PathEntropy, FewMatterWhereThereIsCongestion) {
    auto few = on_port(50'000);
    EXPECT_EQ(answer_with(ask(snapshot_of({few})), Verdict::low_entropy), nullptr);
    few.ecn_capable_packets = 20'000;
    few.ecn_ce_packets = 2'000;
    const auto answers = ask(snapshot_of({few}));
    const metrics::Answer* const answer = answer_with(answers, Verdict::low_entropy);
    ASSERT_NE(answer, nullptr);
    EXPECT_FALSE(answer->alarm);
    EXPECT_THAT(answer->advice, HasSubstr("NCCL_IB_QPS_PER_CONNECTION"));
}

/// Eight entropies; the first one has five losses. `since` packets passed after the last one, and a gap before it was
/// 1,000 at most.
metrics::Snapshot with_last_loss(std::uint64_t since) {
    auto snapshot = snapshot_of(eight_ports(5));
    metrics::PathWindowFigures windows = windows_of(50'000);
    windows.rows[0].losses = {
        .packets = 20'000, .episodes = 5, .packets_since = since, .widest_gap = 1000, .last_ns = 9};
    snapshot.path_windows = {windows};
    return snapshot;
}

/// Four gaps: after r times the widest one, 4! / ((1+r)(2+r)(3+r)(4+r)) is below 0.01 from r = 4.6 on.
TEST(PathMended, IsDescribedAndDoesNotAlarm) {
    const auto answers = ask(with_last_loss(4'700));
    EXPECT_EQ(answer_with(answers, Verdict::path_sick), nullptr);
    const metrics::Answer* const answer = answer_with(answers, Verdict::path_recovered);
    ASSERT_NE(answer, nullptr);
    EXPECT_FALSE(answer->alarm);
    EXPECT_THAT(answer->flows, ElementsAre(50'000));
    EXPECT_THAT(answer->summary, HasSubstr("lost more than the paths of the other 7 entropies until "));
    EXPECT_THAT(answer->summary, HasSubstr("5 losses on 20,000 packets. Since then, 4,700 packets passed without"));
    EXPECT_NE(answer_with(ask(with_last_loss(4'500)), Verdict::path_sick), nullptr) << "not long enough";
}

TEST(PathMended, HidesNoPresentMarks) {
    auto snapshot = with_last_loss(4'700);
    snapshot.path_windows[0].rows[0].marks = {30, 2};
    snapshot.flows[0].ecn_ce_packets = 400;
    const auto answers = ask(snapshot);
    const metrics::Answer* const answer = answer_with(answers, Verdict::path_marked);
    ASSERT_NE(answer, nullptr);
    EXPECT_TRUE(answer->alarm);
    EXPECT_EQ(answer_with(answers, Verdict::path_sick), nullptr);
}

/// Before the routes changed the first entropy lost; since then, it has not.
TEST(PathRerouted, CountsSinceTheChange) {
    auto snapshot = snapshot_of(eight_ports(5));
    metrics::PathWindowFigures windows = windows_of(50'000);
    for (metrics::EntropyWindows& row : windows.rows) {
        row.losses.packets = 8'000;
        row.losses_before.packets = 12'000;
        row.rerouted_ns = 1'700'000'000'000'000'000;
    }
    windows.rows[0].losses_before.episodes = 9;
    snapshot.path_windows = {windows};
    const auto answers = ask(snapshot);
    EXPECT_EQ(answer_with(answers, Verdict::path_sick), nullptr);
    const metrics::Answer* const answer = answer_with(answers, Verdict::path_recovered);
    ASSERT_NE(answer, nullptr);
    EXPECT_THAT(answer->summary, HasSubstr("9 losses on 12,000 packets. Its route changed at "));
    EXPECT_THAT(answer->summary, HasSubstr("since then it had 0 losses in 8,000 packets."));

    // And the other way round: its losses came after the change.
    snapshot.path_windows[0].rows[0].losses_before.episodes = 0;
    snapshot.path_windows[0].rows[0].losses.episodes = 9;
    const auto later = ask(snapshot);
    const metrics::Answer* const sick = answer_with(later, Verdict::path_sick);
    ASSERT_NE(sick, nullptr);
    EXPECT_THAT(sick->summary, HasSubstr("Counted since the routes changed at "));
    // Four entropies were followed; of the others it is not known what passed since.
    EXPECT_THAT(sick->summary, HasSubstr("9 of 9 losses on 25 % of the packets"));
}

/// What was sent again before the change is no cost of the losses after it.
TEST(PathRerouted, CostsWhatWasLostSince) {
    auto snapshot = snapshot_of(eight_ports(5));
    snapshot.flows[0].retransmitted_packets = 50'000;
    metrics::PathWindowFigures windows = windows_of(50'000);
    for (metrics::EntropyWindows& row : windows.rows) {
        row.losses.packets = 8'000;
        row.rerouted_ns = 1'700'000'000'000'000'000;
    }
    windows.rows[0].losses.episodes = 9;
    snapshot.path_windows = {windows};
    const auto answers = ask(snapshot);
    const metrics::Answer* const sick = answer_with(answers, Verdict::path_sick);
    ASSERT_NE(sick, nullptr);
    EXPECT_DOUBLE_EQ(sick->severity, 9.0 / (4 * 8'000));
}

}  // namespace
