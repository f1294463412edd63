#pragma once
#include <cstddef>
#include <deque>
#include <map>
#include <prometheus/metric_family.h>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "exporters/prometheus/traffic_totals.h"
#include "metrics/answers/answer.h"

namespace exporters::prometheus {

/// What `why` finds, as gauges: `rdmascope_verdict{question,verdict}` is the cost, from 0 to 1, over the last samples.
/// A finding that is more likely wrong than right counts as 0. A verdict keeps its series, at 0, once it was found.
class VerdictGauges {
public:
    static constexpr std::size_t kept_samples = 12;

    /// The answers about one interval; none if there was no traffic.
    void add(std::span<const metrics::Answer> answers);
    std::vector<::prometheus::MetricFamily> families() const;

private:
    using Key = std::pair<metrics::Question, metrics::Verdict>;
    using Costs = std::map<Key, double>;

    std::deque<Costs> samples_;
    std::set<Key> seen_;
};

/// The row of all_series().
Series verdict_series();

}  // namespace exporters::prometheus
