// The rules of a policy as series: sums over intervals, by hand.
#include <gtest/gtest.h>
#include <vector>

#include "exporters/prometheus/policy_gauges.h"

namespace exporters::prometheus {
namespace {

TEST(PolicyGauges, flows_are_of_the_last_interval_and_packets_of_all) {
    PolicyGauges gauges;
    EXPECT_TRUE(gauges.families().empty());
    gauges.add(std::vector<PolicyRuleFigures>{{"a", 4, 2, 10, 1000}, {"b", 1, 0, 0, 0}});
    gauges.add(std::vector<PolicyRuleFigures>{{"a", 3, 1, 5, 500}});
    const auto families = gauges.families();
    ASSERT_EQ(families.size(), policy_series().size());
    const std::vector<double> expected{3, 1, 15, 1500};
    for (std::size_t i = 0; i < families.size(); ++i) {
        EXPECT_EQ(families[i].name, policy_series()[i].name);
        ASSERT_EQ(families[i].metric.size(), 1U) << "a rule that is gone has no series";
        const auto& metric = families[i].metric.front();
        EXPECT_EQ(metric.label.front().value, "a");
        EXPECT_EQ(families[i].type == ::prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value,
                  expected[i]);
    }
    gauges.add({});
    EXPECT_TRUE(gauges.families().empty());
}

}  // namespace
}  // namespace exporters::prometheus
