// Figures as people read them, and the manual's list of verdicts.
#include <cmath>
#include <fstream>
#include <gmock/gmock.h>
#include <set>
#include <sstream>

#include "metrics/answers/figure_text.h"
#include "support.h"
#include "tests/support/pcaps.h"

namespace {

using metrics::Verdict;

namespace why = metrics::answers;

TEST(Words, Durations) {
    EXPECT_EQ(why::duration(0), "0 ns");
    EXPECT_EQ(why::duration(655'360'000), "655 ms");
    EXPECT_EQ(why::duration(1500), "1.50 us");
    EXPECT_EQ(why::duration(999'999), "1.00 ms");
    EXPECT_EQ(why::duration(2.04e9), "2.04 s");
    EXPECT_EQ(why::duration(150e9), "2.50 min");
    EXPECT_EQ(why::duration(std::nan("")), "-");
}

TEST(Words, Rates) {
    EXPECT_EQ(why::bit_rate(1.25e9), "10.0 Gbit/s");
    EXPECT_EQ(why::bit_rate(1.25e6), "10.0 Mbit/s");
    EXPECT_EQ(why::octets(65'536), "64 KiB");
    EXPECT_EQ(why::octets(64), "64 B");
}

TEST(Words, Numbers) {
    EXPECT_EQ(why::number(0), "0");
    EXPECT_EQ(why::number(999), "999");
    EXPECT_EQ(why::number(1000), "1,000");
    EXPECT_EQ(why::number(18'446'744'073'709'551'615ULL), "18,446,744,073,709,551,615");
    EXPECT_EQ(why::counted(1, "packet"), "1 packet");
    EXPECT_EQ(why::counted(2, "packet"), "2 packets");
    EXPECT_EQ(why::percent(0.0063), "0.63 %");
    EXPECT_EQ(why::percent(0.00001), "<0.01 %");
    EXPECT_EQ(why::percent(1), "100 %");
    EXPECT_EQ(why::figure({"", 12345, metrics::EvidenceUnit::packets, {}}), "12,345 packets");
    EXPECT_EQ(why::figure({"", 1, metrics::EvidenceUnit::recoveries, {}}), "1 recovery");
}

std::string manual() {
    std::ifstream file(support::pcaps() + "/../docs/why.md");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

TEST(Manual, ListsEveryVerdictInOrder) {
    const std::string text = manual();
    ASSERT_FALSE(text.empty());
    std::size_t at = 0;
    std::size_t rows = 0;
    for (std::size_t question = 0; question < metrics::question_count; ++question) {
        at = text.find("\n## " + std::string(metrics::question_names[question]) + "\n", at);
        ASSERT_NE(at, std::string::npos) << metrics::question_names[question];
        for (const auto& verdict : metrics::verdicts(static_cast<metrics::Question>(question))) {
            const std::string row = "\n| `" + std::string(name_of(verdict.verdict)) + "` | " +
                                    (verdict.alarm ? "yes" : "no") + " | " + std::string(verdict.meaning) + " |";
            at = text.find(row, at);
            ASSERT_NE(at, std::string::npos) << row;
            ++rows;
        }
    }
    std::size_t listed = 0;
    for (std::size_t found = text.find("\n| `"); found != std::string::npos; found = text.find("\n| `", found + 1))
        ++listed;
    EXPECT_EQ(listed, rows);
}

TEST(Verdicts, AreListedOnceForEachQuestion) {
    for (std::size_t question = 0; question < metrics::question_count; ++question) {
        std::set<Verdict> listed;
        for (const auto& row : metrics::verdicts(static_cast<metrics::Question>(question)))
            EXPECT_TRUE(listed.insert(row.verdict).second) << name_of(row.verdict);
        EXPECT_EQ(listed.count(Verdict::undecidable), 1U);
    }
}

TEST(Verdicts, AreFoundByTheirNames) {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < metrics::verdict_count; ++i) {
        const auto verdict = static_cast<Verdict>(i);
        EXPECT_TRUE(names.insert(name_of(verdict)).second) << name_of(verdict);
        EXPECT_EQ(metrics::verdict_named(name_of(verdict)), verdict);
    }
    EXPECT_EQ(metrics::verdict_named("rnr"), Verdict::rnr);
    for (const char* unknown : {"", "RNR", "rnr ", "rn", "connection_established"})
        EXPECT_FALSE(metrics::verdict_named(unknown)) << unknown;
}

TEST(Verdicts, MeanSomethingOnlyForTheirQuestions) {
    using metrics::Question;
    ASSERT_NE(metrics::meaning_of(Question::bandwidth, Verdict::rnr), nullptr);
    EXPECT_TRUE(metrics::meaning_of(Question::bandwidth, Verdict::rnr)->alarm);
    ASSERT_NE(metrics::meaning_of(Question::latency, Verdict::rnr), nullptr);
    EXPECT_FALSE(metrics::meaning_of(Question::latency, Verdict::rnr)->alarm);
    EXPECT_EQ(metrics::meaning_of(Question::congestion, Verdict::rnr), nullptr);
}

}  // namespace
