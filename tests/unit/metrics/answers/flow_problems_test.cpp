/// What is wrong with single flows, from findings about several.
#include "metrics/answers/flow_problems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/metrics/answers/support.h"

namespace metrics {
namespace {

using why_test::add_event;
using why_test::healthy;
using why_test::snapshot_of;

Answer alarm(Verdict verdict, std::vector<std::uint64_t> flows, double cost, double confidence = 1) {
    Answer answer;
    answer.question = Question::bandwidth;
    answer.verdict = verdict;
    answer.flows = std::move(flows);
    answer.cost = {cost, CostBasis::busy_time};
    answer.confidence = confidence;
    answer.alarm = true;
    return answer;
}

TEST(FlowProblems, a_healthy_flow_has_none) { EXPECT_TRUE(flow_problems(snapshot_of({healthy()})).empty()); }

TEST(FlowProblems, the_first_finding_about_a_flow_counts) {
    const Snapshot snapshot = snapshot_of({healthy(1), healthy(2), healthy(3)});
    std::vector<Answer> answers{alarm(Verdict::loss_before_tap, {2}, 0.4), alarm(Verdict::rnr, {1, 2}, 0.2)};
    answers.push_back(alarm(Verdict::none, {3}, 0));
    answers.back().alarm = false;
    const FlowProblems problems = flow_problems(snapshot, answers);
    ASSERT_EQ(problems.size(), 2U);
    EXPECT_EQ(problems.at(1).cause, "rnr");
    EXPECT_EQ(problems.at(2).cause, "loss before");
    EXPECT_EQ(problems.at(2).verdict, Verdict::loss_before_tap);
    EXPECT_DOUBLE_EQ(problems.at(2).cost.share, 0.4);
}

TEST(FlowProblems, are_graded_and_worse_by_grade_before_cost) {
    const Snapshot snapshot = snapshot_of({healthy(1), healthy(2), healthy(3), healthy(4)});
    const std::vector<Answer> answers{alarm(Verdict::rnr, {1}, 0.02), alarm(Verdict::rnr, {2}, 0.9),
                                      alarm(Verdict::rnr, {3}, 0.001), alarm(Verdict::rnr, {4}, 0.99, 0.1)};
    const FlowProblems problems = flow_problems(snapshot, answers);
    EXPECT_EQ(problems.at(1).grade, Grade::wrong);
    EXPECT_EQ(problems.at(3).grade, Grade::minor);
    EXPECT_EQ(problems.at(4).grade, Grade::suspected);
    EXPECT_GT(badness(problems.at(2)), badness(problems.at(1)));
    EXPECT_GT(badness(problems.at(1)), badness(problems.at(3)));
    EXPECT_GT(badness(problems.at(3)), badness(problems.at(4)));
}

/// RFC 5040, 4.8: layer 1 (DDP), type 1 (tagged buffer error), code 0: invalid STag.
TEST(FlowProblems, a_terminate_says_why_in_both_directions) {
    FlowSnapshot ended = healthy(1);
    FlowSnapshot refused = healthy(2, 1, 2);
    for (FlowSnapshot* flow : {&ended, &refused}) flow->transport = wire::Transport::iwarp;
    ended.reverse = 2;
    refused.reverse = 1;
    ended.terminates = 1;
    add_event(ended, EventKind::terminate, {7}, 1, 0x1100);
    const FlowProblems problems = flow_problems(snapshot_of({ended, refused}));
    ASSERT_EQ(problems.size(), 2U);
    EXPECT_EQ(problems.at(1).cause, "terminate: invalid STag");
    EXPECT_EQ(problems.at(2).cause, "terminate: invalid STag");
    EXPECT_EQ(problems.at(1).grade, Grade::wrong);
}

TEST(FlowProblems, every_verdict_has_a_word) {
    for (std::size_t i = 0; i < verdict_count; ++i) {
        const auto verdict = static_cast<Verdict>(i);
        const FlowProblems problems = flow_problems(snapshot_of({healthy(1)}), std::vector{alarm(verdict, {1}, 0.5)});
        EXPECT_FALSE(problems.at(1).cause.empty());
        EXPECT_EQ(problems.at(1).cause.find('_'), std::string::npos) << problems.at(1).cause;
        EXPECT_LE(problems.at(1).cause.size(), 22U) << problems.at(1).cause;
    }
}

TEST(FlowProblems, errors_outlive_their_connection_and_repairs_do_not) {
    for (const Verdict verdict : {Verdict::terminate, Verdict::remote_access_error, Verdict::rnr_retries_used_up})
        EXPECT_TRUE(outlives_connection(verdict));
    for (const Verdict verdict : {Verdict::rnr, Verdict::loss_before_tap, Verdict::reordering})
        EXPECT_FALSE(outlives_connection(verdict));
}

}  // namespace
}  // namespace metrics
