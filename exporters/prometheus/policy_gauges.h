#pragma once
#include <cstdint>
#include <map>
#include <prometheus/metric_family.h>
#include <span>
#include <string>
#include <vector>

#include "exporters/prometheus/traffic_totals.h"

namespace exporters::prometheus {

/// What one interval has shown of one rule of the policy.
struct PolicyRuleFigures {
    std::string rule;  ///< its name
    std::uint64_t flows = 0;
    std::uint64_t broken_flows = 0;
    std::uint64_t broken_packets = 0;
    std::uint64_t broken_bytes = 0;
};

/// The rules of a policy as series, `rdmascope_policy_*{rule}`. Their number is that of the rules.
class PolicyGauges {
public:
    /// The figures of one interval, of every rule. A rule that is no longer there loses its series.
    void add(std::span<const PolicyRuleFigures> rules);
    std::vector<::prometheus::MetricFamily> families() const;

private:
    std::map<std::string, PolicyRuleFigures> rules_;  ///< packets and bytes of all intervals, flows of the last
};

/// Rows of all_series().
std::vector<Series> policy_series();

}  // namespace exporters::prometheus
