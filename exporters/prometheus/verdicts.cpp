#include "exporters/prometheus/verdicts.h"

#include <algorithm>
#include <string>

namespace exporters::prometheus {

namespace {

using ::prometheus::ClientMetric;
using ::prometheus::MetricFamily;

/// What the answer costs; 0 for descriptions and for guesses.
double counted_cost(const metrics::Answer& answer) {
    const metrics::Grade grade = grade_of(answer);
    const bool counts = grade == metrics::Grade::wrong || grade == metrics::Grade::minor;
    return counts ? std::clamp(answer.cost.share, 0.0, 1.0) : 0;
}

}  // namespace

void VerdictGauges::add(std::span<const metrics::Answer> answers) {
    if (samples_.size() == kept_samples) samples_.pop_front();
    Costs& costs = samples_.emplace_back();
    for (const metrics::Answer& answer : answers) {
        if (!answer.alarm) continue;
        const Key key{answer.question, answer.verdict};
        seen_.insert(key);
        double& cost = costs[key];
        cost = std::max(cost, counted_cost(answer));
    }
}

std::vector<MetricFamily> VerdictGauges::families() const {
    const Series series = verdict_series();
    MetricFamily family{std::string(series.name), std::string(series.help), series.type, {}};
    for (const Key& key : seen_) {
        double sum = 0;
        for (const Costs& costs : samples_)
            if (const auto found = costs.find(key); found != costs.end()) sum += found->second;
        ClientMetric metric;
        metric.label = {{"question", std::string(name_of(key.first))}, {"verdict", std::string(name_of(key.second))}};
        metric.gauge.value = sum / static_cast<double>(samples_.size());
        family.metric.push_back(std::move(metric));
    }
    if (family.metric.empty()) return {};
    return {std::move(family)};
}

Series verdict_series() {
    return {"rdmascope_verdict",
            "ratio",
            "What why finds: its cost over the last minute, as a share of the busy time, packets, requests, "
            "connections or commands; 0 once it is over.",
            ::prometheus::MetricType::Gauge,
            {"question", "verdict"}};
}

}  // namespace exporters::prometheus
