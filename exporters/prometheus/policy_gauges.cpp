#include "exporters/prometheus/policy_gauges.h"

#include <array>
#include <utility>

namespace exporters::prometheus {
namespace {

using ::prometheus::ClientMetric;
using ::prometheus::MetricFamily;
using ::prometheus::MetricType;

struct PolicyRow {
    std::string_view name;
    std::string_view unit;
    std::string_view help;
    MetricType type;
    std::uint64_t PolicyRuleFigures::*member;
};
constexpr std::array policy_rows{
    PolicyRow{"rdmascope_policy_flows", "", "Flows of the last interval that the rule of the policy decides about.",
              MetricType::Gauge, &PolicyRuleFigures::flows},
    PolicyRow{"rdmascope_policy_broken_flows", "", "Of these, flows that are not as the rule expects.",
              MetricType::Gauge, &PolicyRuleFigures::broken_flows},
    PolicyRow{"rdmascope_policy_broken_packets_total", "packets", "Packets that the rule does not permit.",
              MetricType::Counter, &PolicyRuleFigures::broken_packets},
    PolicyRow{"rdmascope_policy_broken_bytes_total", "bytes", "Bytes of these packets.", MetricType::Counter,
              &PolicyRuleFigures::broken_bytes},
};

}  // namespace

void PolicyGauges::add(std::span<const PolicyRuleFigures> rules) {
    std::map<std::string, PolicyRuleFigures> sums;
    for (const PolicyRuleFigures& rule : rules) {
        PolicyRuleFigures sum = rule;
        if (const auto before = rules_.find(rule.rule); before != rules_.end()) {
            sum.broken_packets += before->second.broken_packets;
            sum.broken_bytes += before->second.broken_bytes;
        }
        sums.emplace(rule.rule, std::move(sum));
    }
    rules_ = std::move(sums);
}

std::vector<MetricFamily> PolicyGauges::families() const {
    std::vector<MetricFamily> all;
    if (rules_.empty()) return all;
    all.reserve(policy_rows.size());
    for (const PolicyRow& row : policy_rows) {
        MetricFamily& family =
            all.emplace_back(MetricFamily{std::string(row.name), std::string(row.help), row.type, {}});
        family.metric.reserve(rules_.size());
        for (const auto& [name, figures] : rules_) {
            ClientMetric& metric = family.metric.emplace_back();
            metric.label = {{"rule", name}};
            const auto value = static_cast<double>(figures.*row.member);
            if (row.type == MetricType::Counter)
                metric.counter.value = value;
            else
                metric.gauge.value = value;
        }
    }
    return all;
}

std::vector<Series> policy_series() {
    std::vector<Series> all;
    all.reserve(policy_rows.size());
    for (const PolicyRow& row : policy_rows) all.push_back({row.name, row.unit, row.help, row.type, {"rule"}});
    return all;
}

}  // namespace exporters::prometheus
