#include "metrics/measure/flow/flow_entropies.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "base/hash.h"
#include "metrics/measure/flow/flow_store.h"

namespace metrics::inline measure::inline flow {

void DistinctCounter::add(std::uint64_t value) {
    const std::uint64_t hash = base::spread(base::spread(value) + base::golden);
    constexpr unsigned rest_bits = 64 - index_bits;
    const auto rank = static_cast<std::uint8_t>(std::countl_zero(hash << index_bits | 1) + 1);
    std::uint8_t& own = registers_[hash >> rest_bits];
    own = std::max(own, rank);
}

std::uint64_t DistinctCounter::estimate() const {
    constexpr double count = 1u << index_bits;
    constexpr double alpha = 0.709;  // of 64 registers
    double sum = 0;
    double empty = 0;
    for (const std::uint8_t own : registers_) {
        sum += std::ldexp(1.0, -own);
        empty += own == 0 ? 1 : 0;
    }
    const double raw = alpha * count * count / sum;
    const double estimate = raw <= 2.5 * count && empty > 0 ? count * std::log(count / empty) : raw;
    return static_cast<std::uint64_t>(std::llround(estimate));
}

namespace {

std::span<EntropyRow> rows_of(FlowEntropies& entropies, Slab<ManyEntropies>& many) {
    if (entropies.many == FlowEntropies::no_block) return entropies.exact;
    return many[entropies.many];
}

EntropyTotals totals_of(const Flow& flow) {
    return {flow.counts.packets, flow.counts.wire_bytes, Flow::sum(flow.counts.ce, flow.counts_above.ce)};
}

/// What passed since the present entropy began counts for it. The last packet, if `excepted`, is of another one.
void count_present(FlowEntropies& entropies, std::span<EntropyRow> rows, EntropyTotals now,
                   const EntropyTotals& excepted) {
    now.packets -= excepted.packets;
    now.wire_bytes -= excepted.wire_bytes;
    now.ce -= excepted.ce;
    EntropyRow& row = rows[entropies.present];
    row.packets += now.packets - entropies.before.packets;
    row.wire_bytes += now.wire_bytes - entropies.before.wire_bytes;
    row.ce += static_cast<std::uint32_t>(now.ce - entropies.before.ce);
    entropies.before = now;
}

/// The row of the entropy. Without room, the row with the fewest packets becomes its row, and keeps its counts.
std::uint8_t row_of(FlowEntropies& entropies, Slab<ManyEntropies>& many, Entropy entropy) {
    std::span<EntropyRow> rows = rows_of(entropies, many);
    const auto used = rows.first(entropies.known);
    const auto found = std::ranges::find(used, entropy, &EntropyRow::entropy);
    if (found != used.end()) return static_cast<std::uint8_t>(found - used.begin());
    if (entropies.known == entropies.exact.size() && entropies.many == FlowEntropies::no_block) {
        const std::uint32_t block = many.take();
        if (block != FlowEntropies::no_block) {
            std::ranges::copy(entropies.exact, many[block].begin());
            entropies.many = block;
            rows = many[block];
        }
    }
    if (entropies.known < rows.size()) {
        rows[entropies.known].entropy = entropy;
        return entropies.known++;
    }
    entropies.is_full = true;
    const auto lightest = std::ranges::min_element(rows, {}, &EntropyRow::packets);
    lightest->entropy = entropy;
    return static_cast<std::uint8_t>(lightest - rows.begin());
}

}  // namespace

/// A data packet, counted already, whose entropy or hop limit is not that of the flow's last one.
void FlowStore::note_other_path(Flow& flow, PathKey key, const EntropyTotals& packet) {
    const PathKey key_before = paths.key(flow);
    const Entropy before = key_before.entropy();
    const Entropy now = key.entropy();
    paths.set_key(flow, key);
    if (key_before.hop_limit() != key.hop_limit()) note_hop_limit(flow, key_before.hop_limit(), key.hop_limit());
    if (before == now && key_before.hop_limit() != 0) path_windows.note_hop_limit(flow);
    if (before == now || !before.known()) return;
    if (!flow.has_entropies) {
        // Acknowledgements alone do not decide what the flow's entropy is.
        if (flow.request.next == 0 && flow.responder == Flow::no_block) return;
        const std::uint32_t block = paths.take(flow) ? entropies.take() : Flow::no_block;
        if (block == Flow::no_block) return;
        paths[flow.path].entropies = block;
        flow.has_entropies = true;
        FlowEntropies& fresh = entropies[block];
        fresh.exact[0].entropy = before;
        fresh.known = 1;
        fresh.distinct.add(before.number());
        path_windows.exclude(flow);
    }
    FlowEntropies& own = entropies_of(flow);
    count_present(own, rows_of(own, many_entropies), totals_of(flow), packet);
    own.present = row_of(own, many_entropies, now);
    own.distinct.add(now.number());
    ++own.changes;
}

void FlowStore::note_hop_limit(Flow& flow, std::uint8_t before, std::uint8_t now) {
    std::array<std::uint8_t, 4>& limits = trouble(flow).hop_limits;
    for (const std::uint8_t limit : {before, now}) {
        if (limit == 0 || std::ranges::find(limits, limit) != limits.end()) continue;
        const auto room = std::ranges::find(limits, std::uint8_t{0});
        if (room != limits.end()) *room = limit;
    }
}

EntropyRow* FlowStore::entropy_row_of(const Flow& flow, std::uint64_t position) {
    if (!flow.has_entropies) return nullptr;
    FlowEntropies& own = entropies_of(flow);
    if (position >= flow.request.next || flow.request.next - position > FlowEntropies::remembered) return nullptr;
    return &rows_of(own, many_entropies)[own.first_row[position % FlowEntropies::remembered]];
}

EntropyRow* FlowStore::present_entropy_row(const Flow& flow) {
    if (!flow.has_entropies) return nullptr;
    FlowEntropies& own = entropies_of(flow);
    return &rows_of(own, many_entropies)[own.present];
}

void FlowStore::describe_entropies(const Flow& flow, PathFigures& out) const {
    FlowEntropies own = entropies_of(flow);
    ManyEntropies all;
    std::span<EntropyRow> kept = own.exact;
    if (own.many != FlowEntropies::no_block) {
        all = many_entropies[own.many];
        kept = all;
    }
    count_present(own, kept, totals_of(flow), {});
    for (const EntropyRow& row : kept.first(own.known))
        if (row.packets != 0)
            out.rows.push_back({.entropy = row.entropy,
                                .packets = row.packets,
                                .wire_bytes = row.wire_bytes,
                                .ecn_ce_packets = row.ce,
                                .late_packets = row.late,
                                .repeated_packets = row.repeated,
                                .loss_episodes = row.loss_episodes});
    std::ranges::sort(out.rows, {}, &EntropyFigures::entropy);
    // A packet that turns out to be another flow's has left a row without packets.
    if (out.rows.size() < 2) {
        out.rows.clear();
        return;
    }
    out.entropy_changes = own.changes;
    const std::uint64_t least = out.rows.size() + (own.is_full ? 1u : 0u);
    out.entropies = own.is_full ? std::max(own.distinct.estimate(), least) : least;
}

}  // namespace metrics::measure::flow
