#include "exporters/report/time_line.h"

#include <algorithm>
#include <cmath>

namespace exporters::report {

namespace {

std::int64_t bin_of(std::int64_t time_ns, std::uint64_t bin_ns) {
    const auto length = static_cast<std::int64_t>(bin_ns);
    const std::int64_t whole = time_ns / length;
    return time_ns % length < 0 ? whole - 1 : whole;
}

/// The number of the bin that is twice as long.
std::int64_t half(std::int64_t bin) { return bin >> 1; }

template <class Key, class Count>
void add_counts(std::vector<std::pair<Key, Count>>& into, const std::vector<std::pair<Key, Count>>& other) {
    std::vector<std::pair<Key, Count>> sum;
    sum.reserve(into.size() + other.size());
    auto a = into.begin();
    auto b = other.begin();
    while (a != into.end() || b != other.end()) {
        if (b == other.end() || (a != into.end() && a->first < b->first))
            sum.push_back(*a++);
        else if (a == into.end() || b->first < a->first)
            sum.push_back(*b++);
        else {
            sum.emplace_back(a->first, a->second + b->second);
            ++a;
            ++b;
        }
    }
    into = std::move(sum);
}

void join(FlowBin& into, const FlowBin& later) {
    into.figures += later.figures;
    const auto one = static_cast<double>(into.covered_ns);
    const auto other = static_cast<double>(later.covered_ns);
    if (one + other > 0)
        into.outstanding_mean = (into.outstanding_mean * one + later.outstanding_mean * other) / (one + other);
    into.to_ns = std::max(into.to_ns, later.to_ns);
    into.covered_ns += later.covered_ns;
    add_counts(into.states, later.states);
    add_counts(into.latencies, later.latencies);
}

FlowBin flow_bin_of(std::int64_t bin, const metrics::FlowSnapshot& flow) {
    FlowBin out;
    out.bin = bin;
    out.figures = time_figures_of(flow);
    out.to_ns = flow.last_ns;
    out.outstanding_mean = metrics::knows_depth(flow) ? flow.messages_mean : 0;
    for (std::size_t i = 0; i < metrics::state_count; ++i) {
        const std::uint64_t ns = flow.state_ns[i];
        if (ns == 0) continue;
        out.states.emplace_back(static_cast<std::uint8_t>(i), ns);
        out.covered_ns += ns;
    }
    for (const metrics::OperationFigures& operation : flow.operations)
        for (const metrics::Histogram::Bucket& bucket : operation.latency_ns.buckets()) {
            const std::uint8_t row = latency_row(metrics::HistogramBuckets::representative(bucket.index));
            add_counts(out.latencies, {{row, static_cast<std::uint32_t>(bucket.count)}});
        }
    return out;
}

}  // namespace

TimeFigures& TimeFigures::operator+=(const TimeFigures& other) {
    wire_bytes += other.wire_bytes;
    messages += other.messages;
    resent += other.resent;
    naks += other.naks;
    rnr_naks += other.rnr_naks;
    ce_marks += other.ce_marks;
    cnps += other.cnps;
    return *this;
}

TimeFigures time_figures_of(const metrics::FlowSnapshot& flow) {
    TimeFigures out;
    out.wire_bytes = flow.wire_bytes;
    out.messages = flow.messages_total();
    out.resent = flow.retransmitted_packets.value_or(0);
    for (std::size_t i = 0; i < metrics::nak_code_count; ++i) out.naks += flow.naks[i];
    out.rnr_naks = flow.rnr_naks;
    out.ce_marks = flow.ecn_ce_packets;
    out.cnps = flow.cnp_packets;
    return out;
}

std::uint8_t latency_row(std::uint64_t ns) {
    if (ns <= 1) return 0;
    return static_cast<std::uint8_t>(std::min(4 * std::log2(static_cast<double>(ns)), 255.0));
}

bool TimeLine::is_too_large() const {
    const bool long_line = !bins_.empty() && static_cast<std::uint64_t>(last_bin() - first_bin()) >= bounds_.bins;
    return long_line || (flow_bins_ > bounds_.flow_bins && bins_.size() > 1);
}

void TimeLine::add(std::int64_t start_ns, const metrics::Snapshot& difference) {
    const std::int64_t bin = bin_of(start_ns, bin_ns_);
    Bin& all = bins_[bin];
    for (const metrics::PauseSnapshot& pauses : difference.pauses)
        all.pauses += pauses.pause_frames + pauses.pfc_frames;
    for (const metrics::FlowSnapshot& flow : difference.flows) {
        all.figures += time_figures_of(flow);
        add(bin, flow);
    }
    while (is_too_large()) double_bins();
}

void TimeLine::add(std::int64_t bin, const metrics::FlowSnapshot& flow) {
    std::vector<FlowBin>& own = flows_[flow.id];
    FlowBin now = flow_bin_of(bin, flow);
    if (!own.empty() && own.back().bin == bin) {
        join(own.back(), now);
        return;
    }
    own.push_back(std::move(now));
    ++flow_bins_;
}

void TimeLine::double_bins() {
    bin_ns_ *= 2;
    std::map<std::int64_t, Bin> joined;
    for (const auto& [number, bin] : bins_) {
        Bin& into = joined[half(number)];
        into.figures += bin.figures;
        into.pauses += bin.pauses;
    }
    bins_ = std::move(joined);
    flow_bins_ = 0;
    for (auto& [id, bins] : flows_) {
        std::vector<FlowBin> fewer;
        fewer.reserve(bins.size() / 2 + 1);
        for (FlowBin& bin : bins) {
            bin.bin = half(bin.bin);
            if (!fewer.empty() && fewer.back().bin == bin.bin)
                join(fewer.back(), bin);
            else
                fewer.push_back(std::move(bin));
        }
        bins = std::move(fewer);
        flow_bins_ += bins.size();
    }
}

void TimeLine::forget_before(std::int64_t bin) {
    bins_.erase(bins_.begin(), bins_.lower_bound(bin));
    flow_bins_ = 0;
    for (auto& [id, bins] : flows_) {
        std::erase_if(bins, [bin](const FlowBin& each) { return each.bin < bin; });
        flow_bins_ += bins.size();
    }
    std::erase_if(flows_, [](const auto& flow) { return flow.second.empty(); });
}

}  // namespace exporters::report
