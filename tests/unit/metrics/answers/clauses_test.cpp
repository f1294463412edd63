// No sentence asserts what no figure shows: each clause that the answers print is looked up in clause_table.cpp, and
// the figure that it rests on must be above 0, or 0 where the clause denies something. The snapshots are random.
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "tests/unit/metrics/answers/clause_table.h"
#include "tests/unit/metrics/answers/random_evidence.h"

namespace {

using metrics::Answer;
using metrics::Snapshot;
using why_test::Clause;
using why_test::Facts;
using why_test::RandomEvidence;

constexpr int snapshots_enough = 30'000;

/// Sentences that assert nothing of the traffic but that it is too little.
bool says_nothing(const Answer& answer) {
    return answer.verdict == metrics::Verdict::undecidable || answer.verdict == metrics::Verdict::none;
}

class Clauses : public testing::Test {
protected:
    void judge(const Snapshot& snapshot, const Answer& answer, const std::uint64_t* one = nullptr) {
        met_.insert({answer.question, answer.verdict});
        const Facts facts = why_test::facts_of(snapshot, answer, one);
        bool known = says_nothing(answer);
        for (const Clause& clause : why_test::assertions()) known = judge(facts, answer, clause, true) || known;
        for (const Clause& clause : why_test::denials()) known = judge(facts, answer, clause, false) || known;
        if (!known && wrong_.insert(std::string(name_of(answer.verdict))).second)
            ADD_FAILURE() << "the table has no clause of: " << answer.summary;
    }
    void expect_all_met() const {
        for (const auto* table : {&why_test::assertions(), &why_test::denials()})
            for (const Clause& clause : *table)
                EXPECT_TRUE(printed_.contains(clause.words)) << "never printed: " << clause.words;
        for (std::size_t i = 0; i < metrics::usual_question_count; ++i) {
            const auto question = static_cast<metrics::Question>(i);
            for (const metrics::VerdictMeaning& each : metrics::verdicts(question))
                EXPECT_TRUE(met_.contains({question, each.verdict}))
                    << "never asked for: " << name_of(question) << ' ' << name_of(each.verdict);
        }
    }

private:
    bool judge(const Facts& facts, const Answer& answer, const Clause& clause, bool asserts) {
        const bool in_summary = answer.summary.find(clause.words) != std::string::npos;
        const bool in_advice = clause.in_advice && answer.advice.find(clause.words) != std::string::npos;
        if (!in_summary && !in_advice) return false;
        printed_.insert(clause.words);
        if ((clause.figure(facts) > 0) != asserts && wrong_.insert(clause.words).second)
            ADD_FAILURE() << '"' << clause.words << "\" in: " << answer.summary << ' ' << answer.advice;
        return in_summary;
    }

    std::set<std::string> printed_;
    std::set<std::string> wrong_;
    std::set<std::pair<metrics::Question, metrics::Verdict>> met_;
};

TEST_F(Clauses, StandOnlyWhereTheirFigureSaysSo) {
    RandomEvidence evidence(20'261'125);
    for (int i = 0; i < snapshots_enough; ++i) {
        const Snapshot snapshot = evidence.make();
        for (const Answer& answer : why_test::ask(snapshot)) judge(snapshot, answer);
        if (snapshot.flows.empty() || i % 4 != 0) continue;
        const std::uint64_t one = snapshot.flows.front().id;
        for (const Answer& answer : why_test::ask(snapshot, &one)) judge(snapshot, answer, &one);
    }
    expect_all_met();
}

}  // namespace
