#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "exporters/prometheus/verdicts.h"

// The gauges of `why`: expected values follow from the costs that are put in.
namespace {

using exporters::prometheus::VerdictGauges;
using metrics::Answer;
using metrics::Question;
using metrics::Verdict;

Answer finding(Question question, Verdict verdict, double cost, double confidence = 0.9) {
    Answer answer;
    answer.question = question;
    answer.verdict = verdict;
    answer.alarm = true;
    answer.confidence = confidence;
    answer.cost.share = cost;
    answer.severity = cost;
    return answer;
}

/// The value of a verdict; -1 if it has no series.
double value_of(const VerdictGauges& gauges, const std::string& question, const std::string& verdict) {
    for (const auto& family : gauges.families())
        for (const auto& metric : family.metric)
            if (metric.label.at(0).value == question && metric.label.at(1).value == verdict) return metric.gauge.value;
    return -1;
}

TEST(PrometheusVerdicts, CostIsTheMeanOfTheLastSamples) {
    VerdictGauges gauges;
    EXPECT_TRUE(gauges.families().empty());
    const std::vector<Answer> bad{finding(Question::bandwidth, Verdict::rnr, 0.8)};
    gauges.add(bad);
    EXPECT_DOUBLE_EQ(value_of(gauges, "bandwidth", "rnr"), 0.8);
    gauges.add({});
    EXPECT_DOUBLE_EQ(value_of(gauges, "bandwidth", "rnr"), 0.4);
    for (std::size_t i = 0; i < VerdictGauges::kept_samples; ++i) gauges.add({});
    EXPECT_DOUBLE_EQ(value_of(gauges, "bandwidth", "rnr"), 0);
}

TEST(PrometheusVerdicts, TheWorstOfSeveralFindingsCounts) {
    VerdictGauges gauges;
    const std::vector<Answer> answers{finding(Question::latency, Verdict::rnr, 0.1),
                                      finding(Question::latency, Verdict::rnr, 0.3),
                                      finding(Question::latency, Verdict::pause, 0.2)};
    gauges.add(answers);
    EXPECT_DOUBLE_EQ(value_of(gauges, "latency", "rnr"), 0.3);
    EXPECT_DOUBLE_EQ(value_of(gauges, "latency", "pause"), 0.2);
}

TEST(PrometheusVerdicts, GuessesAndDescriptionsCostNothing) {
    VerdictGauges gauges;
    Answer description = finding(Question::bandwidth, Verdict::application_idle, 0.9);
    description.alarm = false;
    const std::vector<Answer> answers{finding(Question::bandwidth, Verdict::pause, 0.9, 0.2), description};
    gauges.add(answers);
    EXPECT_DOUBLE_EQ(value_of(gauges, "bandwidth", "pause"), 0);
    EXPECT_DOUBLE_EQ(value_of(gauges, "bandwidth", "application_idle"), -1);
}

}  // namespace
