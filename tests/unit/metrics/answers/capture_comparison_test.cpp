#include "metrics/answers/capture_comparison.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

// Two captures side by side: what is expected follows from the figures that are put in.
namespace {

using namespace metrics;

Address host(std::uint8_t last) {
    Address address;
    address.family = wire::AddressFamily::ipv4;
    address.octets = {192, 0, 2, last};
    return address;
}

/// A flow of WRITEs over one second, each answered after `latency_ns`.
FlowSnapshot writes(std::uint64_t id, std::uint8_t from, std::uint8_t to, std::uint64_t latency_ns,
                    std::uint64_t count = 1000) {
    FlowSnapshot flow;
    flow.id = id;
    flow.transport = wire::Transport::roce2;
    flow.source.address = host(from);
    flow.source.qpn = static_cast<std::uint32_t>(id);
    flow.destination.address = host(to);
    flow.first_ns = 1;
    flow.last_ns = 1'000'000'001;
    flow.packets = count;
    flow.retransmitted_packets = 0;
    OperationFigures& write = flow.operations[index_of(Operation::write)];
    write.count = count;
    write.bytes = count * 1000;
    write.latency_ns.record(latency_ns, count);
    return flow;
}

Snapshot capture_of(std::vector<FlowSnapshot> flows) {
    Snapshot snapshot;
    snapshot.flows = std::move(flows);
    return snapshot;
}

Answer alarm(Verdict verdict, double cost, double confidence = 0.9) {
    Answer answer;
    answer.question = Question::bandwidth;
    answer.verdict = verdict;
    answer.alarm = true;
    answer.confidence = confidence;
    answer.cost.share = cost;
    answer.severity = cost;
    return answer;
}

TEST(CaptureComparison, FlowsAreMatchedByTheirHostsAndAddedUp) {
    const Snapshot before = capture_of({writes(1, 1, 2, 1000), writes(2, 1, 3, 1000)});
    const Snapshot after = capture_of({writes(7, 1, 2, 1000, 400), writes(8, 1, 2, 1000, 600), writes(9, 4, 2, 1000)});
    const CaptureComparison comparison = compare_captures(before, {}, after, {});
    ASSERT_EQ(comparison.groups.size(), 3U);
    for (const ComparedGroup& group : comparison.groups) {
        if (group.source == host(4)) {
            EXPECT_FALSE(group.before);
            EXPECT_EQ(group.after->flows, std::vector<std::uint64_t>{9});
        } else if (group.destination == host(3)) {
            EXPECT_FALSE(group.after);
        } else {
            EXPECT_EQ(group.before->flows, std::vector<std::uint64_t>{1});
            EXPECT_EQ(group.after->flows, (std::vector<std::uint64_t>{7, 8}));
            EXPECT_EQ(group.after->messages, 1000U);
            EXPECT_TRUE(group.changes.empty());
        }
    }
    EXPECT_EQ(comparison.grade, Grade::ok);
}

TEST(CaptureComparison, PortsOfServersMatchAndThoseOfClientsDoNot) {
    FlowSnapshot one = writes(1, 1, 2, 1000);
    one.transport = wire::Transport::iwarp;
    one.source.port = 40001;
    one.destination.port = 7174;
    FlowSnapshot same = one;
    same.source.port = 50002;
    FlowSnapshot other = one;
    other.destination.port = 7175;
    const auto groups = [&](const FlowSnapshot& after) {
        return compare_captures(capture_of({one}), {}, capture_of({after}), {}).groups;
    };
    ASSERT_EQ(groups(same).size(), 1U);
    EXPECT_EQ(groups(same).front().server_port, 7174);
    EXPECT_EQ(groups(same).front().role, GroupRole::client);
    EXPECT_EQ(groups(other).size(), 2U);
}

TEST(CaptureComparison, WhatGotWorseComesFirst) {
    const Snapshot before = capture_of({writes(1, 1, 2, 4000), writes(2, 3, 4, 1000), writes(3, 5, 6, 1000)});
    const Snapshot after = capture_of({writes(1, 1, 2, 1000), writes(2, 3, 4, 8000), writes(3, 5, 6, 2000)});
    const CaptureComparison comparison = compare_captures(before, {}, after, {});
    ASSERT_EQ(comparison.groups.size(), 3U);
    EXPECT_EQ(comparison.groups[0].source, host(3));
    EXPECT_NEAR(comparison.groups[0].worse(), 3, 0.05);  // 8 times
    EXPECT_EQ(comparison.groups[1].source, host(5));
    EXPECT_NEAR(comparison.groups[1].worse(), 1, 0.05);  // twice
    EXPECT_NEAR(comparison.groups[2].worse(), -2, 0.05);
    EXPECT_EQ(comparison.grade, Grade::suspected);
}

TEST(CaptureComparison, RepeatsCountByTheirShare) {
    const FlowSnapshot before = writes(1, 1, 2, 1000);
    FlowSnapshot after = before;
    after.retransmitted_packets = 100;  // of 1000
    const auto groups = compare_captures(capture_of({before}), {}, capture_of({after}), {}).groups;
    ASSERT_EQ(groups.front().changes.size(), 1U);
    EXPECT_EQ(groups.front().changes.front().figure, ComparedFigure::retransmitted);
    EXPECT_DOUBLE_EQ(groups.front().changes.front().after, 0.1);
    EXPECT_DOUBLE_EQ(groups.front().worse(), 2);
}

TEST(CaptureComparison, FindingsAppearGrowShrinkAndGo) {
    const Snapshot none;
    const std::vector<Answer> before{alarm(Verdict::pause, 0.5), alarm(Verdict::credit, 0.2),
                                     alarm(Verdict::corruption, 0.1), alarm(Verdict::reordering, 0.3)};
    const std::vector<Answer> after{alarm(Verdict::rnr, 0.4), alarm(Verdict::credit, 0.6),
                                    alarm(Verdict::corruption, 0.101), alarm(Verdict::reordering, 0.1)};
    const CaptureComparison comparison = compare_captures(none, before, none, after);
    std::vector<std::pair<Verdict, FindingChange>> found;
    for (const ComparedFinding& finding : comparison.findings) found.emplace_back(finding.verdict, finding.change);
    EXPECT_EQ(found, (std::vector<std::pair<Verdict, FindingChange>>{{Verdict::rnr, FindingChange::appeared},
                                                                     {Verdict::credit, FindingChange::worse},
                                                                     {Verdict::corruption, FindingChange::same},
                                                                     {Verdict::reordering, FindingChange::better},
                                                                     {Verdict::pause, FindingChange::gone}}));
    EXPECT_EQ(comparison.grade, Grade::wrong);
    EXPECT_EQ(compare_captures(none, after, none, after).grade, Grade::ok);
    // A guess that appears is no more than one.
    const std::vector<Answer> guess{alarm(Verdict::rnr, 0.4, 0.2)};
    EXPECT_EQ(compare_captures(none, {}, none, guess).grade, Grade::suspected);
}

}  // namespace
