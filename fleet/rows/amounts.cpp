#include "fleet/rows/amounts.h"

#include <algorithm>

#include "metrics/figures/snapshot_fields.h"

namespace fleet::rows {
namespace {

namespace fields = metrics::fields;
using metrics::FlowSnapshot;
using metrics::Histogram;
using metrics::HistogramBuckets;

/// Calls the visitor with the key and the member of each figure: `counter(kind, index, member)`,
/// `distribution(kind, offset, member)`. The one list of what amounts hold; `Flow` may be const.
template <class Flow, class Visitor>
void visit_operations(Flow& flow, Visitor& visitor) {
    for (std::uint32_t i = 0; i < metrics::operation_count; ++i) {
        if (!visitor.has_operation(flow, i)) continue;
        auto& figures = flow.operations[i];
        visitor.counter(AmountKind::operation_count, i, figures.count);
        visitor.counter(AmountKind::operation_bytes, i, figures.bytes);
        visitor.distribution(AmountKind::latency, i, figures.latency_ns);
        visitor.distribution(AmountKind::response, i, figures.first_response_ns);
    }
}

template <class Flow, class Visitor>
void visit_tcp(Flow& flow, Visitor& visitor) {
    if (!visitor.has_tcp(flow)) return;
    auto& tcp = *flow.tcp;
    for (std::uint32_t i = 0; i < fields::tcp_counters.size(); ++i)
        visitor.counter(AmountKind::tcp, i, tcp.*fields::tcp_counters[i]);
    visitor.distribution(AmountKind::round_trip, 0, tcp.round_trip_ns);
}

template <class Flow, class Visitor>
void visit_amounts(Flow& flow, Visitor& visitor) {
    visit_operations(flow, visitor);
    for (std::uint32_t i = 0; i < metrics::nak_code_count; ++i) visitor.counter(AmountKind::nak, i, flow.naks[i]);
    for (std::uint32_t i = 0; i < metrics::state_count; ++i) visitor.counter(AmountKind::state_ns, i, flow.state_ns[i]);
    visitor.counter(AmountKind::recovery, 0, flow.recovery.count);
    visitor.distribution(AmountKind::message_bytes, 0, flow.message_bytes);
    visitor.distribution(AmountKind::message_duration, 0, flow.message_duration_ns);
    visitor.distribution(AmountKind::rnr_timer, 0, flow.rnr_timer_ns);
    visitor.distribution(AmountKind::cnp_interval, 0, flow.cnp_interval_ns);
    for (std::uint32_t i = 0; i < fields::recovery_histograms.size(); ++i)
        visitor.distribution(AmountKind::recovery_time, i, flow.recovery.*fields::recovery_histograms[i]);
    visit_tcp(flow, visitor);
    visitor.icmp(flow);
    visitor.events(flow);
}

class Collector : public AmountCollector {
public:
    using AmountCollector::AmountCollector;

    static bool has_operation(const FlowSnapshot& flow, std::uint32_t operation) {
        return flow.operations.has(operation);
    }
    static bool has_tcp(const FlowSnapshot& flow) { return flow.tcp.has_value(); }
    void icmp(const FlowSnapshot& flow) {
        if (!flow.icmp) return;
        for (std::uint32_t i = 0; i < flow.icmp->kinds.size(); ++i)
            counter(AmountKind::icmp, i, flow.icmp->kinds[i].count);
    }
    void events(const FlowSnapshot& flow) {
        for (const metrics::EventSummary& summary : flow.event_summaries)
            counter(AmountKind::event, static_cast<std::uint32_t>(summary.kind), summary.count);
    }
};

class Setter : public AmountSetter {
public:
    using AmountSetter::AmountSetter;

    bool has_operation(const FlowSnapshot& /*flow*/, std::uint32_t operation) const {
        return has(amount_key(AmountKind::operation_count, operation)) ||
               has(amount_key(AmountKind::operation_bytes, operation)) || has_kind(AmountKind::latency, operation) ||
               has_kind(AmountKind::response, operation);
    }
    bool has_tcp(FlowSnapshot& flow) const {
        if (!has_kind(AmountKind::tcp, 0) && !has_kind(AmountKind::round_trip, 0)) return false;
        flow.tcp.obtain();
        return true;
    }
    void icmp(FlowSnapshot& flow) const {
        if (!has_kind(AmountKind::icmp, 0)) return;
        metrics::IcmpFigures& figures = flow.icmp.obtain();
        for (std::uint32_t i = 0; i < figures.kinds.size(); ++i) counter(AmountKind::icmp, i, figures.kinds[i].count);
    }
    void events(FlowSnapshot& flow) const {
        for (std::uint32_t i = 0; i < metrics::event_kind_count; ++i) {
            const std::uint64_t count = amount_of(amounts(), AmountKind::event, i);
            if (count == 0) continue;
            metrics::EventSummary& summary = flow.event_summaries.emplace_back();
            summary.kind = static_cast<metrics::EventKind>(i);
            summary.count = count;
        }
    }

private:
    bool has(std::uint32_t key) const { return amounts().contains(key); }
    bool has_kind(AmountKind kind, std::uint32_t offset) const {
        const auto found = amounts().lower_bound(amount_key(kind, 0, offset));
        return found != amounts().end() && found->first <= amount_key(kind, sum_index, offset);
    }
};

}  // namespace

void add_amount(Amounts& out, AmountKind kind, std::uint32_t index, std::uint64_t value) {
    if (value != 0) out[amount_key(kind, index)] = value;
}

void add_distribution(Amounts& out, AmountKind kind, const Histogram& histogram, std::uint32_t offset) {
    if (histogram.empty()) return;
    for (const Histogram::Bucket& bucket : histogram.buckets())
        out[amount_key(kind, bucket.index, offset)] = bucket.count;
    if (histogram.sum() != 0) out[amount_key(kind, sum_index, offset)] = histogram.sum();
}

std::uint64_t amount_of(const Amounts& amounts, AmountKind kind, std::uint32_t index) {
    const auto found = amounts.find(amount_key(kind, index));
    return found == amounts.end() ? 0 : found->second;
}

Histogram distribution_of(const Amounts& amounts, AmountKind kind, std::uint32_t offset) {
    std::vector<Histogram::Bucket> buckets;
    auto at = amounts.lower_bound(amount_key(kind, 0, offset));
    for (; at != amounts.end() && at->first < amount_key(kind, HistogramBuckets::count, offset); ++at)
        if (at->second != 0) buckets.push_back({static_cast<std::uint16_t>(at->first & 0xffff), at->second});
    if (buckets.empty()) return {};
    const auto sum = amounts.find(amount_key(kind, sum_index, offset));
    // The exact bounds do not add up. Midpoints of buckets are within 1 % of them.
    const std::uint64_t min = HistogramBuckets::representative(buckets.front().index);
    const std::uint64_t max = HistogramBuckets::representative(buckets.back().index);
    auto made = Histogram::restore(std::move(buckets), sum == amounts.end() ? 0 : sum->second, min, max);
    return made ? *std::move(made) : Histogram();
}

void AmountSetter::counter(AmountKind kind, std::uint32_t index, std::uint64_t& value) const {
    const auto found = amounts_.find(amount_key(kind, index));
    if (found != amounts_.end()) value = found->second;
}

void AmountSetter::distribution(AmountKind kind, std::uint32_t offset, Histogram& histogram) const {
    Histogram made = distribution_of(amounts_, kind, offset);
    if (!made.empty()) histogram = std::move(made);
}

void append_amounts(Row& row, const Amounts& amounts) {
    Numbers keys;
    Numbers values;
    keys.reserve(amounts.size());
    values.reserve(amounts.size());
    for (const auto& [key, value] : amounts) {
        keys.push_back(key);
        values.push_back(value);
    }
    row.emplace_back(std::move(keys));
    row.emplace_back(std::move(values));
}

Amounts amounts_of(const FlowSnapshot& flow) {
    Amounts amounts;
    Collector collector(amounts);
    visit_amounts(flow, collector);
    return amounts;
}

void set_amounts(FlowSnapshot& flow, const Amounts& amounts) {
    Setter setter(amounts);
    visit_amounts(flow, setter);
}

}  // namespace fleet::rows
