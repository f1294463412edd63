#include "metrics/figures/path_sums.h"

#include <algorithm>

#include "base/saturating.h"

namespace metrics::inline figures {

namespace {

using base::saturating::add;
using base::saturating::subtract;

constexpr std::array entropy_counters{
    &EntropyFigures::packets,      &EntropyFigures::wire_bytes,       &EntropyFigures::ecn_ce_packets,
    &EntropyFigures::late_packets, &EntropyFigures::repeated_packets, &EntropyFigures::loss_episodes,
};
constexpr std::array path_counters{
    &PathFigures::entropy_changes,
    &PathFigures::loss_episodes,
    &PathFigures::late_refused,
};
constexpr std::array outcome_counters{
    &HoleOutcomes::in_order,
    &HoleOutcomes::selective,
    &HoleOutcomes::placing,
};

void add_entropy(std::vector<EntropyFigures>& rows, const EntropyFigures& one) {
    const auto place = std::ranges::lower_bound(rows, one.entropy, {}, &EntropyFigures::entropy);
    if (place == rows.end() || place->entropy != one.entropy) {
        rows.insert(place, one);
        return;
    }
    for (const auto member : entropy_counters) (*place).*member = add((*place).*member, one.*member);
}

/// Without room, the lightest go.
void keep_heaviest(std::vector<EntropyFigures>& rows) {
    while (rows.size() > PathFigures::most_rows)
        rows.erase(std::ranges::min_element(rows, {}, &EntropyFigures::packets));
}

std::uint64_t entropies_together(const PathFigures& one, const PathFigures& other, std::size_t rows) {
    const std::uint64_t most = std::max(one.entropies, other.entropies);
    return std::max<std::uint64_t>(most, rows);
}

void merge_hop_limits(std::vector<std::uint8_t>& into, const std::vector<std::uint8_t>& other) {
    constexpr std::size_t most = 4;
    for (const std::uint8_t limit : other) {
        const auto place = std::ranges::lower_bound(into, limit);
        if (into.size() < most && (place == into.end() || *place != limit)) into.insert(place, limit);
    }
}

}  // namespace

namespace {

void add_signs(EntropyWindows& into, const EntropyWindows& other) {
    for (const auto signs : {&EntropyWindows::marks, &EntropyWindows::delays}) {
        SignCounts& mine = into.*signs;
        mine.more = add(mine.more, (other.*signs).more);
        mine.less = add(mine.less, (other.*signs).less);
    }
    into.longer_ns.merge(other.longer_ns);
}

/// Of two stretches of time that do not overlap, or that do.
void add_losses(LossTimes& into, const LossTimes& later, bool same_time) {
    if (same_time)
        into.packets_since = into.last_ns < later.last_ns ? later.packets_since : into.packets_since;
    else
        into.packets_since = later.episodes > 0 ? later.packets_since : add(into.packets_since, later.packets);
    into.packets = add(into.packets, later.packets);
    into.episodes = add(into.episodes, later.episodes);
    into.widest_gap = std::max(into.widest_gap, later.widest_gap);
    into.last_ns = std::max(into.last_ns, later.last_ns);
}

void append(EntropyWindows& into, const EntropyWindows& later, bool same_time) {
    if (later.rerouted_ns > into.rerouted_ns) {
        // Its part before the routes changed is the end of what was before.
        LossTimes before = into.losses;
        add_losses(before, later.losses_before, same_time);
        into = later;
        into.losses_before = before;
        return;
    }
    add_signs(into, later);
    add_losses(into.losses, later.losses, same_time);
    add_losses(into.losses_before, later.losses_before, same_time);
}

}  // namespace

void merge_windows(PathWindowFigures& into, const PathWindowFigures& other, PartOrder order) {
    into.max_over_mean_permille.merge(other.max_over_mean_permille);
    for (const EntropyWindows& theirs : other.rows) {
        const auto place = std::ranges::lower_bound(into.rows, theirs.entropy, {}, &EntropyWindows::entropy);
        if (place == into.rows.end() || place->entropy != theirs.entropy) {
            into.rows.insert(place, theirs);
            continue;
        }
        if (order != PartOrder::other_precedes) {
            append(*place, theirs, order == PartOrder::same_time);
            continue;
        }
        EntropyWindows joined = theirs;
        append(joined, *place, false);
        *place = std::move(joined);
    }
    // Without room, those that were compared least go.
    while (into.rows.size() > PathFigures::most_rows)
        into.rows.erase(std::ranges::min_element(into.rows, {}, [](const EntropyWindows& row) {
            return row.marks.more + row.marks.less + row.delays.more + row.delays.less;
        }));
}

namespace {

void subtract_losses(LossTimes& losses, const LossTimes& earlier) {
    losses.packets = subtract(losses.packets, earlier.packets);
    losses.episodes = subtract(losses.episodes, earlier.episodes);
    losses.packets_since = std::min(losses.packets_since, losses.packets);
    if (losses.episodes == 0) losses.widest_gap = 0;
    if (losses.episodes == 0) losses.last_ns = 0;
}

}  // namespace

void subtract_windows(EntropyWindows& row, const EntropyWindows& earlier) {
    if (row.rerouted_ns != earlier.rerouted_ns) {
        subtract_losses(row.losses_before, earlier.losses);
        return;
    }
    subtract_losses(row.losses, earlier.losses);
    subtract_losses(row.losses_before, earlier.losses_before);
    for (const auto signs : {&EntropyWindows::marks, &EntropyWindows::delays}) {
        (row.*signs).more = subtract((row.*signs).more, (earlier.*signs).more);
        (row.*signs).less = subtract((row.*signs).less, (earlier.*signs).less);
    }
    row.longer_ns = row.longer_ns.since(earlier.longer_ns);
}

namespace {

void subtract_pair(PathWindowFigures& figures, const PathWindowFigures& earlier) {
    figures.max_over_mean_permille = figures.max_over_mean_permille.since(earlier.max_over_mean_permille);
    for (EntropyWindows& row : figures.rows) {
        const auto former = std::ranges::find(earlier.rows, row.entropy, &EntropyWindows::entropy);
        if (former != earlier.rows.end()) subtract_windows(row, *former);
    }
}

/// Packets without a loss count, too: they show that losses are over.
bool has_no_windows(const PathWindowFigures& figures) {
    return figures.max_over_mean_permille.empty() && std::ranges::all_of(figures.rows, [](const EntropyWindows& row) {
               return row.marks == SignCounts{} && row.delays == SignCounts{} && row.losses.packets == 0 &&
                      row.losses.episodes == 0 && row.losses_before.packets == 0 && row.losses_before.episodes == 0;
           });
}

}  // namespace

std::vector<PathWindowFigures> windows_since(const std::vector<PathWindowFigures>& earlier,
                                             const std::vector<PathWindowFigures>& later) {
    std::vector<PathWindowFigures> rest = later;
    for (PathWindowFigures& figures : rest) {
        const auto former = std::ranges::lower_bound(earlier, pair_of(figures), {}, pair_of);
        if (former != earlier.end() && pair_of(*former) == pair_of(figures)) subtract_pair(figures, *former);
    }
    std::erase_if(rest, has_no_windows);
    return rest;
}

namespace {

/// Of a TCP connection: its recoveries. The first repeated segment of each is an event of the value 1.
std::uint64_t loss_episodes_of(const FlowSnapshot& flow) {
    if (!flow.tcp) return flow.path ? flow.path->loss_episodes : 0;
    const auto shown = std::ranges::find(flow.event_summaries, EventKind::retransmission, &EventSummary::kind);
    return shown == flow.event_summaries.end() ? 0 : shown->value_sum;
}

}  // namespace

std::vector<EntropyFigures> entropies_of(const FlowSnapshot& flow) {
    if (flow.path && !flow.path->rows.empty()) return flow.path->rows;
    if (!flow.entropy.known()) return {};
    return {{.entropy = flow.entropy,
             .packets = flow.packets,
             .wire_bytes = flow.wire_bytes,
             .ecn_ce_packets = flow.ecn_ce_packets,
             .late_packets = flow.reordered_packets.value_or(0),
             .repeated_packets = flow.retransmitted_packets.value_or(0),
             .loss_episodes = loss_episodes_of(flow)}};
}

void merge_path(FlowSnapshot& into, const FlowSnapshot& other) {
    const bool alike = into.entropy == other.entropy || !into.entropy.known() || !other.entropy.known();
    const bool has_rows = (into.path && !into.path->rows.empty()) || (other.path && !other.path->rows.empty());
    if (!alike || has_rows) {
        std::vector<EntropyFigures> rows = entropies_of(into);
        for (const EntropyFigures& one : entropies_of(other)) add_entropy(rows, one);
        const std::uint64_t count = entropies_together(into.path ? *into.path : PathFigures{},
                                                       other.path ? *other.path : PathFigures{}, rows.size());
        keep_heaviest(rows);
        if (!into.path) into.path = PathFigures{};
        into.path->rows = std::move(rows);
        into.path->entropies = count;
    }
    const auto place = [](const FlowSnapshot& flow) {
        return std::tuple(flow.entropy.known(), flow.last_ns, flow.entropy);
    };
    if (place(into) < place(other)) into.entropy = other.entropy;
    if (!other.path) return;
    if (!into.path) into.path = PathFigures{};
    PathFigures& path = *into.path;
    for (const auto member : path_counters) path.*member = add(path.*member, (*other.path).*member);
    for (const auto member : outcome_counters)
        path.outcomes.*member = add(path.outcomes.*member, other.path->outcomes.*member);
    path.late_depth.merge(other.path->late_depth);
    path.late_ns.merge(other.path->late_ns);
    merge_hop_limits(path.hop_limits, other.path->hop_limits);
}

void subtract_path(FlowSnapshot& flow, const FlowSnapshot& earlier) {
    if (!flow.path) return;
    PathFigures& path = *flow.path;
    const std::vector<EntropyFigures> former_rows = entropies_of(earlier);
    for (EntropyFigures& row : path.rows) {
        const auto former = std::ranges::find(former_rows, row.entropy, &EntropyFigures::entropy);
        if (former == former_rows.end()) continue;
        for (const auto member : entropy_counters) row.*member = subtract(row.*member, (*former).*member);
    }
    const std::size_t rows = path.rows.size();
    std::erase_if(path.rows, [](const EntropyFigures& row) { return row.packets == 0; });
    // Of more than were kept, it is unknown which ones have passed since.
    if (path.entropies <= rows) path.entropies = std::max<std::uint64_t>(path.rows.size(), 1);
    if (!earlier.path) return;
    for (const auto member : path_counters) path.*member = subtract(path.*member, (*earlier.path).*member);
    for (const auto member : outcome_counters)
        path.outcomes.*member = subtract(path.outcomes.*member, earlier.path->outcomes.*member);
    path.late_depth = path.late_depth.since(earlier.path->late_depth);
    path.late_ns = path.late_ns.since(earlier.path->late_ns);
}

}  // namespace metrics::figures
