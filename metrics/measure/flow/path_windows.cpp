#include "metrics/measure/flow/path_windows.h"

#include <algorithm>
#include <limits>
#include <span>
#include <tuple>

namespace metrics::inline measure::inline flow {

namespace {

/// Hop limits that change within about a second change for one reason.
constexpr std::int64_t together_ns = std::int64_t{1} << 30;

std::uint32_t bounded_count(std::size_t value) {
    return static_cast<std::uint32_t>(std::min<std::size_t>(value, std::numeric_limits<std::uint32_t>::max() - 1));
}

/// Of few values, which it sorts.
std::uint32_t median_of(std::span<std::uint32_t> values) {
    std::ranges::sort(values);
    return values[(values.size() - 1) / 2];
}

/// The median of sorted values without the one at `left_out`.
std::uint32_t median_without(std::span<const std::uint32_t> sorted, std::size_t left_out) {
    const std::size_t middle = (sorted.size() - 2) / 2;
    return sorted[middle < left_out ? middle : middle + 1];
}

}  // namespace

PathWindows::PathWindows(FlowPaths& paths, std::size_t max_flows)
    : paths_(paths),
      max_pairs_(std::clamp<std::size_t>(max_flows / 16, 1024, 65536)),
      rows_left_(std::max<std::size_t>(max_flows / 8, 4096)),
      members_left_(std::max<std::size_t>(max_flows / 16, 4096)),
      pairs_(bounded_count(max_pairs_)),
      pages_(std::max<std::size_t>(max_flows / 8, 4096)) {}

std::uint32_t PathWindows::pair_with(const FlowKey& key) {
    if (const auto known = by_key_.find(key); known != by_key_.end()) return known->second;
    if (by_key_.size() >= max_pairs_) return none;
    const std::uint32_t fresh = pairs_.take();
    if (fresh == none) return none;
    pairs_[fresh].key = key;
    by_key_.emplace(key, fresh);
    return fresh;
}

void PathWindows::begin(Flow& flow, std::uint8_t dscp) {
    if (!paths_.key(flow).entropy().known()) return;
    FlowKey key = flow.key;
    key.selector = dscp;
    key.service = Service::rc;
    const std::uint32_t index = pair_with(key);
    if (index == none) return;
    flow.path_dscp = dscp;
    Pair& pair = pairs_[index];
    if (++pair.flows == 1) {
        pair.first = &flow;
        return;
    }
    if (pair.first != nullptr) add_member(*pair.first, index);
    pair.first = nullptr;
    if (!flow.has_entropies) add_member(flow, index);
}

std::uint8_t PathWindows::row_with(Pair& pair, Entropy entropy) {
    const auto known = std::ranges::find(pair.rows, entropy, &Row::entropy);
    if (known != pair.rows.end()) return static_cast<std::uint8_t>(known - pair.rows.begin());
    if (pair.rows.size() < PathFigures::most_rows && rows_left_ > 0) {
        --rows_left_;
        pair.rows.emplace_back().entropy = entropy;
        return static_cast<std::uint8_t>(pair.rows.size() - 1);
    }
    const auto unused = std::ranges::find(pair.rows, 0, &Row::members);
    if (unused == pair.rows.end()) return 0xff;
    unused->longer_ns.release(pages_, unused->owner);
    *unused = Row{};
    unused->entropy = entropy;
    return static_cast<std::uint8_t>(unused - pair.rows.begin());
}

void PathWindows::add_member(Flow& flow, std::uint32_t pair) {
    constexpr std::uint8_t no_row = 0xff;
    const std::uint8_t row = row_with(pairs_[pair], paths_.key(flow).entropy());
    if (row == no_row || pairs_[pair].rows[row].members == most_members) return;
    if (members_left_ == 0 || !paths_.take(flow)) return;
    --members_left_;
    PathMember& member = paths_[flow.path].member;
    member.flow = &flow;
    member.pair = pair;
    member.row = row;
    ++pairs_[pair].rows[row].members;
    // The present window is not whole.
    flow.path_window = window_of(flow.counts.last_ns);
}

void PathWindows::remove_member(Flow& flow) {
    if (flow.path == FlowPaths::none) return;
    PathMember& member = paths_[flow.path].member;
    if (member.pair == none) return;
    Pair& pair = pairs_[member.pair];
    end_window(pair);
    --pair.rows[member.row].members;
    ++members_left_;
    member = {};
}

void PathWindows::exclude(Flow& flow) {
    remove_member(flow);
    if (flow.path_dscp == Flow::no_dscp) return;
    FlowKey key = flow.key;
    key.selector = flow.path_dscp;
    key.service = Service::rc;
    const auto known = by_key_.find(key);
    if (known != by_key_.end() && pairs_[known->second].first == &flow) pairs_[known->second].first = nullptr;
}

void PathWindows::leave(Flow& flow) {
    if (flow.path_dscp == Flow::no_dscp) return;
    exclude(flow);
    FlowKey key = flow.key;
    key.selector = flow.path_dscp;
    key.service = Service::rc;
    const auto known = by_key_.find(key);
    if (known == by_key_.end()) return;
    Pair& pair = pairs_[known->second];
    if (--pair.flows > 0) return;
    for (Row& row : pair.rows) row.longer_ns.release(pages_, row.owner);
    pair.max_over_mean.release(pages_, pair.owner);
    rows_left_ += pair.rows.size();
    pair.rows = {};
    pairs_.give_back(known->second);
    by_key_.erase(known);
}

/// The flow's first packet in the window, not counted yet.
void PathWindows::begin_window(Flow& flow, std::uint32_t window) {
    flow.path_window = window;
    PathMember& member = paths_[flow.path].member;
    if (member.pair == none) return;
    Pair& pair = pairs_[member.pair];
    if (pair.window != window) {
        end_window(pair);
        const bool same_interval = pair.window >> interval_windows_bits == window >> interval_windows_bits;
        pair.window = window;
        if (!same_interval) end_interval(pair);
    }
    if (member.is_active) return;
    member.is_active = true;
    member.next_active = pair.active;
    pair.active = flow.path;
    member.packets = flow.counts.packets;
    member.wire_bytes = flow.counts.wire_bytes;
    member.ce = Flow::sum(flow.counts.ce, flow.counts_above.ce);
}

void PathWindows::add_round_trip(const Flow& flow, std::uint64_t ns) {
    const PathMember& member = paths_[flow.path].member;
    if (member.pair == none) return;
    Row& row = pairs_[member.pair].rows[member.row];
    if (row.sampled == row.round_trips_ns.size()) return;
    constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    row.round_trips_ns[row.sampled++] = static_cast<std::uint32_t>(std::min(ns, most));
}

PathWindows::Row* PathWindows::row_of(const Flow& flow) {
    if (flow.path == FlowPaths::none) return nullptr;
    const PathMember& member = paths_[flow.path].member;
    return member.pair == none ? nullptr : &pairs_[member.pair].rows[member.row];
}

/// Of the window, which its row does not count yet.
std::uint64_t PathWindows::packets_under_way(const Flow& flow) const {
    const PathMember& member = paths_[flow.path].member;
    return member.is_active ? flow.counts.packets - member.packets : 0;
}

void PathWindows::add_loss(const Flow& flow, std::int64_t now_ns) {
    Row* const row = row_of(flow);
    if (row == nullptr) return;
    LossTimes& losses = row->losses;
    // Of other flows with this entropy, the packets of the window are not known yet.
    const std::uint64_t packets = std::max(losses.packets + packets_under_way(flow), row->packets_at_loss);
    if (losses.episodes++ > 0) losses.widest_gap = std::max(losses.widest_gap, packets - row->packets_at_loss);
    row->packets_at_loss = packets;
    losses.last_ns = now_ns;
}

void PathWindows::take_back_loss(const Flow& flow) {
    Row* const row = row_of(flow);
    if (row == nullptr || row->losses.episodes == 0 || --row->losses.episodes > 0) return;
    row->losses = {.packets = row->losses.packets};
    row->packets_at_loss = 0;
}

/// What was seen of the former route says nothing about the next one.
void PathWindows::restart(Row& row, std::int64_t changed_ns) {
    LossTimes& before = row.losses_before;
    if (row.rerouted_ns == 0 || changed_ns - row.rerouted_ns > together_ns) before = {};
    before.packets += row.losses.packets;
    before.episodes += row.losses.episodes;
    before.last_ns = std::max(before.last_ns, row.losses.last_ns);
    row.losses = {};
    row.packets_at_loss = 0;
    row.rerouted_ns = changed_ns;
    row.marks_more = row.marks_less = row.delays_more = row.delays_less = 0;
    row.longer_ns.release(pages_, row.owner);
}

/// Of one entropy alone, or of several: then all routes between the hosts may have changed.
void PathWindows::note_hop_limit(const Flow& flow) {
    Row* const row = row_of(flow);
    if (row == nullptr) return;
    const PathMember& member = paths_[flow.path].member;
    Pair& pair = pairs_[member.pair];
    const std::int64_t now_ns = flow.counts.last_ns;
    const bool is_first = pair.change_ns == 0 || now_ns - pair.change_ns > together_ns;
    if (is_first) pair.change_row = member.row;
    const bool was_rerouted = !is_first && pair.is_rerouted;
    pair.is_rerouted = was_rerouted || (!is_first && pair.change_row != member.row);
    pair.change_ns = now_ns;
    // Once in a window: where a network sprays over ways of different lengths, hop limits change all the time.
    const bool is_fresh = pair.change_window != window_of(now_ns);
    if (is_fresh) close(pair);
    pair.change_window = window_of(now_ns);
    if (!pair.is_rerouted || (was_rerouted && !is_fresh)) return restart(*row, now_ns);
    for (Row& each : pair.rows) restart(each, now_ns);
}

/// Compares what the window has so far. Its members stay in it, so that no packet is left out.
void PathWindows::close(Pair& pair) {
    std::uint64_t packets = 0;
    std::uint64_t ce = 0;
    for (std::uint32_t index = pair.active; index != none; index = paths_[index].member.next_active) {
        PathMember& member = paths_[index].member;
        const Flow& flow = *member.flow;
        Row& row = pair.rows[member.row];
        const std::uint64_t all_ce = Flow::sum(flow.counts.ce, flow.counts_above.ce);
        const auto own_packets = static_cast<std::uint32_t>(flow.counts.packets - member.packets);
        const auto own_ce = static_cast<std::uint32_t>(all_ce - member.ce);
        row.packets += own_packets;
        row.losses.packets += own_packets;
        row.ce += own_ce;
        row.interval_bytes += flow.counts.wire_bytes - member.wire_bytes;
        packets += own_packets;
        ce += own_ce;
        member.packets = flow.counts.packets;
        member.wire_bytes = flow.counts.wire_bytes;
        member.ce = all_ce;
    }
    if (!pair.is_compared && packets >= 2 * least_packets && pair.rows.size() > 1) {
        if (ce > 0) compare_marks(pair, packets, ce);
        compare_delays(pair, packets);
    }
    pair.is_compared = true;
    for (Row& row : pair.rows) row.packets = row.ce = row.sampled = 0;
}

void PathWindows::end_window(Pair& pair) {
    close(pair);
    pair.is_compared = false;
    for (std::uint32_t index = pair.active; index != none;) {
        PathMember& member = paths_[index].member;
        member.is_active = false;
        index = std::exchange(member.next_active, none);
    }
    pair.active = none;
}

void PathWindows::compare_marks(Pair& pair, std::uint64_t packets, std::uint64_t ce) {
    for (Row& row : pair.rows) {
        if (row.packets < least_packets || packets - row.packets < least_packets) continue;
        const std::uint64_t own = std::uint64_t{row.ce} * (packets - row.packets);
        const std::uint64_t others = (ce - row.ce) * row.packets;
        row.marks_more += own > others ? 1 : 0;
        row.marks_less += own < others ? 1 : 0;
    }
}

void PathWindows::compare_delays(Pair& pair, std::uint64_t packets) {
    std::array<std::uint32_t, PathFigures::most_rows> medians{};
    std::array<std::uint32_t, PathFigures::most_rows> sorted{};
    std::size_t count = 0;
    for (std::size_t i = 0; i < pair.rows.size(); ++i) {
        Row& row = pair.rows[i];
        if (row.sampled == 0) continue;
        medians[i] = median_of(std::span(row.round_trips_ns).first(row.sampled));
        sorted[count++] = medians[i];
    }
    if (count < 2) return;
    const auto known = std::span(sorted).first(count);
    std::ranges::sort(known);
    for (std::size_t i = 0; i < pair.rows.size(); ++i) {
        Row& row = pair.rows[i];
        if (row.sampled == 0 || row.packets < least_packets || packets - row.packets < least_packets) continue;
        const auto place = static_cast<std::size_t>(std::ranges::lower_bound(known, medians[i]) - known.begin());
        const std::uint32_t others = median_without(known, place);
        if (medians[i] > others) {
            ++row.delays_more;
            row.longer_ns.record(pages_, row.owner, medians[i] - others);
        }
        row.delays_less += medians[i] < others ? 1 : 0;
    }
}

void PathWindows::end_interval(Pair& pair) {
    std::uint64_t sum = 0;
    std::uint64_t greatest = 0;
    std::size_t used = 0;
    for (Row& row : pair.rows) {
        used += row.members > 0 || row.interval_bytes > 0 ? 1 : 0;
        sum += row.interval_bytes;
        greatest = std::max(greatest, row.interval_bytes);
        row.interval_bytes = 0;
    }
    if (sum == 0 || used < 2) return;
    constexpr double permille = 1000;
    const double ratio = static_cast<double>(greatest) * static_cast<double>(used) / static_cast<double>(sum);
    pair.max_over_mean.record(pages_, pair.owner, static_cast<std::uint64_t>(ratio * permille));
}

void PathWindows::close() {
    for (const auto& [key, index] : by_key_) close(pairs_[index]);
}

void PathWindows::describe(std::vector<PathWindowFigures>& out) const {
    for (const auto& [key, index] : by_key_) {
        const Pair& pair = pairs_[index];
        if (pair.rows.size() < 2) continue;
        PathWindowFigures& figures = out.emplace_back();
        figures.source = key.source;
        figures.destination = key.destination;
        figures.dscp = static_cast<std::uint8_t>(key.selector);
        figures.max_over_mean_permille = pair.max_over_mean.unpack(pages_);
        for (const Row& row : pair.rows) {
            EntropyWindows& windows =
                figures.rows.emplace_back(EntropyWindows{.entropy = row.entropy,
                                                         .marks = {row.marks_more, row.marks_less},
                                                         .delays = {row.delays_more, row.delays_less},
                                                         .longer_ns = row.longer_ns.unpack(pages_),
                                                         .losses = row.losses,
                                                         .losses_before = row.losses_before,
                                                         .rerouted_ns = row.rerouted_ns});
            windows.losses.packets_since = row.losses.packets - std::min(row.losses.packets, row.packets_at_loss);
        }
        std::ranges::sort(figures.rows, {}, &EntropyWindows::entropy);
    }
    const auto pair_of = [](const PathWindowFigures& pair) {
        return std::tuple(pair.source, pair.destination, pair.dscp);
    };
    std::ranges::sort(out, {}, pair_of);
}

std::size_t PathWindows::octets() const {
    constexpr std::size_t node = sizeof(FlowKey) + sizeof(std::uint32_t) + 2 * sizeof(void*);
    std::size_t rows = 0;
    for (const auto& [key, index] : by_key_) rows += pairs_[index].rows.capacity();
    return pairs_.octets() + pages_.octets() + rows * sizeof(Row) + by_key_.size() * node +
           by_key_.bucket_count() * sizeof(void*);
}

}  // namespace metrics::measure::flow
