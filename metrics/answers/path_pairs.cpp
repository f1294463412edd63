#include "metrics/answers/path_pairs.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "metrics/answers/thresholds.h"
#include "metrics/figures/path_sums.h"

namespace metrics::inline answers {

namespace {

using PairKey = std::tuple<wire::Transport, Address, Address, std::uint8_t>;

/// A pair whose rows are being collected.
struct Collected {
    PathPair pair;
    std::map<Entropy, PathRow> rows;
};

void add_figures(EntropyFigures& into, const EntropyFigures& one) {
    into.packets += one.packets;
    into.wire_bytes += one.wire_bytes;
    into.ecn_ce_packets += one.ecn_ce_packets;
    into.late_packets += one.late_packets;
    into.repeated_packets += one.repeated_packets;
    into.loss_episodes += one.loss_episodes;
}

}  // namespace

void add_round_trips(PathRow& row, const FlowSnapshot& flow) {
    if (flow.tcp) {
        row.round_trip_ns.merge(flow.tcp->round_trip_ns);
    } else {
        for (std::size_t i = 0; i < operation_count; ++i) {
            if (!flow.operations.has(i)) continue;
            const bool read = static_cast<Operation>(i) == Operation::read;
            row.round_trip_ns.merge(read ? flow.operations[i].first_response_ns : flow.operations[i].latency_ns);
        }
    }
    if (!flow.round_trip_min_ns) return;
    row.round_trip_min_ns = std::min(row.round_trip_min_ns.value_or(*flow.round_trip_min_ns), *flow.round_trip_min_ns);
}

namespace {

void add_flow(Collected& collected, const FlowSnapshot& flow) {
    PathPair& pair = collected.pair;
    const std::vector<EntropyFigures> entropies = entropies_of(flow);
    for (const EntropyFigures& one : entropies) {
        PathRow& row = collected.rows[one.entropy];
        row.figures.entropy = one.entropy;
        add_figures(row.figures, one);
        row.flows.push_back(flow.id);
        if (entropies.size() == 1) add_round_trips(row, flow);
    }
    pair.late_packets += flow.reordered_packets.value_or(0);
    if (!flow.path) return;
    pair.entropies = std::max(pair.entropies, flow.path->entropies);
    pair.entropy_changes += flow.path->entropy_changes;
    for (const std::uint8_t limit : flow.path->hop_limits)
        if (std::ranges::find(pair.hop_limits, limit) == pair.hop_limits.end()) pair.hop_limits.push_back(limit);
}

LossCount count_of(const LossTimes& losses) { return {losses.packets, losses.episodes}; }

/// Of an entropy whose route changed, the losses after that. If routes changed and the entropy was not followed, it is
/// not known which ones those are.
LossCount present_losses(const PathRow& row, bool rerouted) {
    if (row.windows.rerouted_ns != 0) return count_of(row.windows.losses);
    if (rerouted && !row.windows.entropy.known()) return {};
    return {row.figures.packets, row.figures.loss_episodes};
}

/// Until the routes changed.
LossCount former_losses(const PathRow& row) {
    if (row.windows.rerouted_ns != 0) return count_of(row.windows.losses_before);
    return {row.figures.packets, row.figures.loss_episodes};
}

/// How many more packets an entropy needs, at the rate at which the one that loses most has lost, until it has had
/// episodes enough. A pair without a loss lacks nothing.
std::uint64_t more_packets(const PathPair& pair) {
    const auto compared =
        std::ranges::count_if(pair.rows, [](const PathRow& row) { return row.losses.packets >= least_path_packets; });
    const auto most = std::ranges::max_element(pair.rows, {}, [](const PathRow& row) {
        return static_cast<double>(row.losses.episodes) / static_cast<double>(row.losses.packets + 1);
    });
    if (most == pair.rows.end() || most->losses.episodes == 0 || pair.rows.size() < 2) return 0;
    const std::uint64_t episodes = least_episodes(std::max<std::uint64_t>(static_cast<std::uint64_t>(compared), 2));
    const std::uint64_t had = most->losses.episodes;
    if (had >= episodes) return 0;
    const double per_episode = static_cast<double>(most->losses.packets) / static_cast<double>(had);
    return static_cast<std::uint64_t>(static_cast<double>(episodes - had) * per_episode);
}

struct WindowTest {
    SignCounts EntropyWindows::*signs;
    PathProblem problem;
};

/// Marks and delays: the sign test of the windows, and what it must come to.
bool is_large(const PathPair& pair, const PathRow& row, PathProblem problem) {
    if (problem == PathProblem::marked) {
        std::uint64_t packets = 0;
        std::uint64_t marked = 0;
        for (const PathRow& other : pair.rows) {
            if (&other == &row) continue;
            packets += other.figures.packets;
            marked += other.figures.ecn_ce_packets;
        }
        const double own = static_cast<double>(row.figures.ecn_ce_packets) * static_cast<double>(packets);
        return own >= path_rate_ratio * static_cast<double>(marked) * static_cast<double>(row.figures.packets);
    }
    const std::uint64_t shift = longer_by_ns(row.windows);
    const auto others = others_round_trip_ns(pair, row);
    return shift >= least_path_delay_ns && others &&
           static_cast<double>(shift) >= least_path_delay_share * static_cast<double>(*others);
}

void compare_windows(PathPair& pair, const WindowTest& test) {
    std::vector<double> p;
    std::vector<PathRow*> tested;
    for (PathRow& row : pair.rows) {
        const SignCounts& signs = row.windows.*test.signs;
        if (signs.more + signs.less < least_path_windows) continue;
        tested.push_back(&row);
        p.push_back(sign_test(signs.more, signs.less));
    }
    const std::vector<double> adjusted = holm(p);
    for (std::size_t i = 0; i < tested.size(); ++i)
        if (adjusted[i] <= path_p_value && tested[i]->problem == PathProblem::none &&
            is_large(pair, *tested[i], test.problem))
            tested[i]->problem = test.problem;
}

/// Marks or a queue.
bool has_present_problem(const PathPair& pair, const PathRow& row) {
    return row.problem == PathProblem::marked || (row.problem == PathProblem::slow && is_queue(pair, row));
}

void compare_losses(PathPair& pair) {
    std::vector<LossCount> counts;
    counts.reserve(pair.rows.size());
    for (PathRow& row : pair.rows) counts.push_back(row.losses);
    const std::vector<LossTest> tests = test_losses(counts);
    for (std::size_t i = 0; i < tests.size(); ++i) {
        PathRow& row = pair.rows[i];
        if (!tests[i].tested) continue;
        row.p_loss = tests[i].p;
        row.loses_more = tests[i].sick;
        if (!row.loses_more) continue;
        // A loss outweighs what goes with it; losses that are over do not outweigh an alarm.
        if (!are_over(row.windows.losses))
            row.problem = PathProblem::sick;
        else if (!has_present_problem(pair, row))
            row.problem = PathProblem::recovered;
    }
    const bool found = std::ranges::any_of(tests, &LossTest::sick);
    pair.packets_needed = found ? 0 : more_packets(pair);
}

/// What was true until the routes changed.
void compare_former_losses(PathPair& pair) {
    std::vector<LossCount> counts;
    counts.reserve(pair.rows.size());
    for (const PathRow& row : pair.rows) counts.push_back(former_losses(row));
    const std::vector<LossTest> tests = test_losses(counts);
    for (std::size_t i = 0; i < tests.size(); ++i) {
        PathRow& row = pair.rows[i];
        if (!tests[i].sick || row.windows.rerouted_ns == 0 || row.problem != PathProblem::none) continue;
        row.problem = PathProblem::recovered;
        row.left_by_route = true;
    }
}

}  // namespace

void compare_paths(PathPair& pair) {
    compare_windows(pair, {&EntropyWindows::marks, PathProblem::marked});
    compare_windows(pair, {&EntropyWindows::delays, PathProblem::slow});
    const bool rerouted = pair.rerouted_ns().has_value();
    for (PathRow& row : pair.rows) row.losses = present_losses(row, rerouted);
    compare_losses(pair);
    if (rerouted) compare_former_losses(pair);
}

namespace {

/// Of the pairs that the windows are about.
void add_windows(const Snapshot& snapshot, std::vector<PathPair>& pairs) {
    constexpr double permille = 1000;
    for (PathPair& pair : pairs) {
        if (pair.transport == wire::Transport::iwarp) continue;
        const auto key = std::tuple(pair.source, pair.destination, pair.dscp);
        const auto known = std::ranges::lower_bound(snapshot.path_windows, key, {}, pair_of);
        if (known == snapshot.path_windows.end() || pair_of(*known) != key) continue;
        if (const auto median = known->max_over_mean_permille.quantile(0.5))
            pair.median_max_over_mean = static_cast<double>(*median) / permille;
        for (PathRow& row : pair.rows) {
            const auto own = std::ranges::lower_bound(known->rows, row.figures.entropy, {}, &EntropyWindows::entropy);
            if (own != known->rows.end() && own->entropy == row.figures.entropy) row.windows = *own;
        }
    }
}

}  // namespace

bool are_over(const LossTimes& losses) {
    if (losses.episodes < least_path_episodes) return false;
    const auto widest = static_cast<double>(std::max<std::uint64_t>(losses.widest_gap, 1));
    return static_cast<double>(losses.packets_since) >= path_quiet_ratio * widest &&
           quiet_probability(losses.episodes - 1, losses.widest_gap, losses.packets_since) <= path_quiet_probability;
}

/// Over all windows that differ: where it was shorter, the difference is below 0.
std::uint64_t longer_by_ns(const EntropyWindows& windows) {
    const auto more = static_cast<double>(windows.delays.more);
    const auto less = static_cast<double>(windows.delays.less);
    const double place = (more + less) / 2 - less;
    if (more == 0 || place <= 0) return 0;
    return windows.longer_ns.quantile(place / more).value_or(0);
}

std::optional<std::uint64_t> others_round_trip_ns(const PathPair& pair, const PathRow& row) {
    Histogram others;
    for (const PathRow& other : pair.rows)
        if (&other != &row) others.merge(other.round_trip_ns);
    return others.quantile(0.5);
}

bool is_queue(const PathPair& pair, const PathRow& row) {
    if (row.figures.ecn_ce_packets > 0) return true;
    const auto excess = [](const Histogram& round_trips) {
        return static_cast<double>(round_trips.quantile(0.5).value_or(0) - round_trips.min().value_or(0));
    };
    Histogram others;
    for (const PathRow& other : pair.rows)
        if (&other != &row) others.merge(other.round_trip_ns);
    // A longer way delays even the fastest packet by as much.
    return excess(row.round_trip_ns) - excess(others) >= static_cast<double>(longer_by_ns(row.windows)) / 2;
}

std::vector<std::uint64_t> PathPair::bytes() const {
    std::vector<std::uint64_t> out;
    out.reserve(rows.size());
    for (const PathRow& row : rows) out.push_back(row.figures.wire_bytes);
    return out;
}

std::uint64_t PathPair::wire_bytes() const {
    return std::transform_reduce(rows.begin(), rows.end(), std::uint64_t{0}, std::plus<>(),
                                 [](const PathRow& row) { return row.figures.wire_bytes; });
}

std::uint64_t PathPair::packets() const {
    return std::transform_reduce(rows.begin(), rows.end(), std::uint64_t{0}, std::plus<>(),
                                 [](const PathRow& row) { return row.figures.packets; });
}

std::uint64_t PathPair::loss_episodes() const {
    return std::transform_reduce(rows.begin(), rows.end(), std::uint64_t{0}, std::plus<>(),
                                 [](const PathRow& row) { return row.figures.loss_episodes; });
}

LossCount PathPair::losses() const {
    LossCount sum;
    for (const PathRow& row : rows) {
        sum.packets += row.losses.packets;
        sum.episodes += row.losses.episodes;
    }
    return sum;
}

std::optional<std::int64_t> PathPair::rerouted_ns() const {
    std::int64_t last = 0;
    for (const PathRow& row : rows) last = std::max(last, row.windows.rerouted_ns);
    return last == 0 ? std::nullopt : std::optional(last);
}

bool PathPair::is_compared() const {
    return std::ranges::count_if(rows, [](const PathRow& row) { return row.p_loss.has_value(); }) > 1;
}

std::vector<PathPair> path_pairs(const Snapshot& snapshot) {
    std::map<PairKey, Collected> by_key;
    for (const FlowSnapshot& flow : snapshot.flows) {
        if (!flow.entropy.known() || flow.packets == 0) continue;
        const std::uint8_t dscp = dscp_of(flow);
        Collected& collected = by_key[{flow.transport, flow.source.address, flow.destination.address, dscp}];
        PathPair& pair = collected.pair;
        pair.source = flow.source.address;
        pair.destination = flow.destination.address;
        pair.transport = flow.transport;
        pair.dscp = dscp;
        add_flow(collected, flow);
    }
    std::vector<PathPair> pairs;
    pairs.reserve(by_key.size());
    for (auto& [key, collected] : by_key) {
        PathPair& pair = collected.pair;
        for (auto& [entropy, row] : collected.rows) pair.rows.push_back(std::move(row));
        std::ranges::sort(pair.hop_limits);
        pair.entropies = std::max<std::uint64_t>(pair.entropies, pair.rows.size());
        pairs.push_back(std::move(pair));
    }
    add_windows(snapshot, pairs);
    for (PathPair& pair : pairs) compare_paths(pair);
    const std::map<Address, ReceiverClass> classes = receiver_classes(snapshot);
    for (PathPair& pair : pairs)
        if (const auto known = classes.find(pair.destination); known != classes.end()) pair.receiver = known->second;
    std::ranges::stable_sort(pairs, std::ranges::greater(), &PathPair::wire_bytes);
    return pairs;
}

}  // namespace metrics::answers
