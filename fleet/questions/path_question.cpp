#include "fleet/questions/path_question.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>

#include "fleet/questions/flow_sums.h"
#include "fleet/questions/series.h"
#include "fleet/rows/amounts.h"
#include "fleet/rows/flow_rows.h"
#include "fleet/rows/path_rows.h"
#include "fleet/schema/sql.h"
#include "metrics/figures/path_sums.h"

namespace fleet::questions {
namespace {

using metrics::EntropyWindows;
using metrics::PathPair;
using metrics::PathRow;

/// Transport, source, destination, DSCP: as the tables have them.
using PairName = std::tuple<std::string, std::string, std::string, std::uint64_t>;

PairName name_of(const std::vector<std::string>& row) { return {row[0], row[1], row[2], number_of(row[3])}; }

/// Where the columns of path_state_columns() begin in a row of ask_rows(): as they are at the end of the scope, then as
/// they were at its beginning.
constexpr std::size_t first_state = 18;

constexpr std::string_view names_of_pair = "transport, source_address, destination_address, dscp";

Series paths_series(std::string where) {
    std::vector<std::string_view> restarting;
    for (const rows::Column& column : rows::path_state_columns()) restarting.push_back(column.name);
    return {.table = rows::paths_table(),
            .place = "transport, source_address, destination_address, dscp, entropy, since",
            .joint = "transport, source_address, destination_address, dscp, entropy",
            .shown = {"entropies"},
            .restarting = std::move(restarting),
            .counted = {"packets", "wire_bytes", "ecn_ce_packets", "late_packets", "repeated_packets", "loss_episodes",
                        "entropy_changes"},
            .listed = {"flows", "hop_limits"},
            .where = std::move(where)};
}

std::string list_of_pairs(const std::vector<PairName>& pairs) {
    std::string list;
    for (const auto& [transport, source, destination, dscp] : pairs)
        list += fmt::format("{}({}, {}, {}, toUInt8({}))", list.empty() ? "" : ", ", schema::text(transport),
                            schema::text(source), schema::text(destination), dscp);
    return list;
}

/// A flow's DSCP and entropy are known from its first data packet on: they choose no rows.
std::string list_of_hosts(const std::vector<PairName>& pairs) {
    std::string list;
    for (const PairName& pair : pairs)
        list += fmt::format("{}({}, {}, {})", list.empty() ? "" : ", ", schema::text(std::get<0>(pair)),
                            schema::text(std::get<1>(pair)), schema::text(std::get<2>(pair)));
    return list;
}

struct ChosenPairs {
    std::vector<PairName> pairs = {};
    std::uint64_t all = 0;
};

base::Result<ChosenPairs> choose(Engine& engine, const Scope& scope, std::uint64_t top) {
    const std::string pairs =
        fmt::format("SELECT {0}, sum(y_wire_bytes) AS bytes FROM ({1}) GROUP BY {0} HAVING sum(y_packets) > 0",
                    names_of_pair, joined_series(scope, paths_series("entropy != 0")));
    auto rows = engine.ask(
        fmt::format("SELECT {0} FROM ({1}) ORDER BY bytes DESC, {0} LIMIT {2}{3}", names_of_pair, pairs, top, settings),
        4);
    if (!rows) return base::Failure{rows.error()};
    auto count = engine.ask(fmt::format("SELECT count() FROM ({}){}", pairs, settings), 1);
    if (!count) return base::Failure{count.error()};
    ChosenPairs chosen;
    if (!count->empty()) chosen.all = number_of(count->front().front());
    for (const std::vector<std::string>& row : *rows) chosen.pairs.push_back(name_of(row));
    return chosen;
}

struct KnownPairs {
    std::map<PairName, PathPair> pairs = {};
    std::map<std::string, metrics::HoleOutcomes> outcomes = {};  ///< by destination
};

PathPair& pair_of(KnownPairs& known, const PairName& name) {
    const auto [at, is_new] = known.pairs.try_emplace(name);
    PathPair& pair = at->second;
    if (!is_new) return pair;
    pair.source = rows::address_of(std::get<1>(name));
    pair.destination = rows::address_of(std::get<2>(name));
    pair.dscp = static_cast<std::uint8_t>(std::get<3>(name));
    for (std::size_t i = 0; i < 4; ++i)
        if (metrics::name_of(static_cast<wire::Transport>(i)) == std::get<0>(name))
            pair.transport = static_cast<wire::Transport>(i);
    return pair;
}

void add_whole(KnownPairs& known, PathPair& pair, const std::vector<std::string>& row, const rows::Amounts& amounts) {
    pair.late_packets = number_of(row[8]);
    pair.entropy_changes = number_of(row[11]);
    pair.entropies = number_of(row[12]);
    for (const std::int64_t limit : list_of(row[16])) pair.hop_limits.push_back(static_cast<std::uint8_t>(limit));
    constexpr double permille = 1000;
    if (const auto median = rows::distribution_of(amounts, rows::AmountKind::path_evenness).quantile(0.5))
        pair.median_max_over_mean = static_cast<double>(*median) / permille;
    const metrics::HoleOutcomes outcomes = rows::outcomes_of(amounts);
    metrics::HoleOutcomes& sum = known.outcomes[row[2]];
    sum.in_order += outcomes.in_order;
    sum.selective += outcomes.selective;
    sum.placing += outcomes.placing;
}

/// What happened to the entropy since the scope began. An entropy that no window had has no losses there.
EntropyWindows windows_of(const std::vector<std::string>& row, const rows::Amounts& amounts) {
    const auto states = [&row](std::size_t first) {
        std::vector<std::int64_t> numbers;
        for (std::size_t i = 0; i < rows::path_state_columns().size(); ++i)
            numbers.push_back(signed_of(row[first + i]));
        return numbers;
    };
    EntropyWindows windows = rows::windows_of(amounts);
    rows::set_path_states(windows, states(first_state));
    EntropyWindows before;
    rows::set_path_states(before, states(first_state + rows::path_state_columns().size()));
    metrics::subtract_windows(windows, before);
    if (windows.losses.packets + windows.losses_before.packets != 0)
        windows.entropy = metrics::Entropy(number_of(row[4]));
    return windows;
}

/// `from_ns`: routes that changed before are those of all that is asked for.
void add_entropy(PathPair& pair, const std::vector<std::string>& row, const rows::Amounts& amounts,
                 std::int64_t from_ns) {
    if (number_of(row[5]) == 0) return;
    PathRow& out = pair.rows.emplace_back();
    out.figures.entropy = metrics::Entropy(number_of(row[4]));
    std::size_t at = 5;
    for (std::uint64_t* const figure :
         {&out.figures.packets, &out.figures.wire_bytes, &out.figures.ecn_ce_packets, &out.figures.late_packets,
          &out.figures.repeated_packets, &out.figures.loss_episodes})
        *figure = number_of(row[at++]);
    for (const std::int64_t flow : list_of(row[15])) out.flows.push_back(static_cast<std::uint64_t>(flow));
    out.windows = windows_of(row, amounts);
    if (out.windows.rerouted_ns > from_ns) return;
    out.windows.rerouted_ns = 0;
    out.windows.losses_before = {};
}

/// Entropies in ascending order: path_pairs() has them so. What a receiver does is known of all that it is sent.
base::Result<KnownPairs> ask_rows(Engine& engine, const Scope& scope, const std::vector<PairName>& pairs) {
    std::string destinations;
    for (const PairName& pair : pairs)
        destinations += fmt::format("{}{}", destinations.empty() ? "" : ", ", schema::text(std::get<2>(pair)));
    const std::string chosen = fmt::format("({}) IN ({})", names_of_pair, list_of_pairs(pairs));
    const std::string where = fmt::format("{} OR (entropy = 0 AND destination_address IN ({}))", chosen, destinations);
    std::string states;
    for (const std::string_view when : {"", "before_"})
        for (const rows::Column& column : rows::path_state_columns())
            states += fmt::format(", y_{}{}", when, column.name);
    auto answer = engine.ask(
        fmt::format(
            "SELECT {}, entropy, y_packets, y_wire_bytes, y_ecn_ce_packets, y_late_packets, y_repeated_packets, "
            "y_loss_episodes, y_entropy_changes, y_entropies, y_amounts.1, y_amounts.2, y_flows, "
            "y_hop_limits, {} AS is_chosen{} FROM ({}) ORDER BY {}, entropy{}",
            names_of_pair, chosen, states, joined_series(scope, paths_series(where)), names_of_pair, settings),
        first_state + 2 * rows::path_state_columns().size());
    if (!answer) return base::Failure{answer.error()};
    KnownPairs known;
    PathPair others;
    for (const std::vector<std::string>& row : *answer) {
        const bool is_chosen = number_of(row[17]) != 0;
        PathPair& pair = is_chosen ? pair_of(known, name_of(row)) : others;
        const rows::Amounts amounts = amounts_of(row[13], row[14]);
        if (number_of(row[4]) == 0)
            add_whole(known, pair, row, amounts);
        else
            add_entropy(pair, row, amounts, scope.from_ns);
    }
    return known;
}

/// Request to its answer, of flows whose packets have one entropy.
base::Result<void> add_round_trips(Engine& engine, const Scope& scope, const std::vector<PairName>& pairs,
                                   KnownPairs& known) {
    const Series series{
        .table = rows::flows_table(),
        .place = "flow",
        .joint = "x_transport, x_source_address, x_destination_address, x_dscp, x_entropy",
        .shown = {"transport", "source_address", "destination_address", "dscp", "entropy"},
        .least = {"round_trip_min_ns"},
        .where = fmt::format("entropies < 2 AND (transport, source_address, destination_address) IN ({})",
                             list_of_hosts(pairs))};
    auto answer = engine.ask(fmt::format("SELECT {}, y_amounts.1, y_amounts.2, y_round_trip_min_ns FROM ({}){}",
                                         series.joint, joined_series(scope, series), settings),
                             8);
    if (!answer) return base::Failure{answer.error()};
    for (const std::vector<std::string>& cells : *answer) {
        const auto pair = known.pairs.find(name_of(cells));
        if (pair == known.pairs.end()) continue;
        const metrics::Entropy entropy(number_of(cells[4]));
        const auto row =
            std::ranges::find(pair->second.rows, entropy, [](const PathRow& one) { return one.figures.entropy; });
        if (row == pair->second.rows.end()) continue;
        metrics::FlowSnapshot sum;
        rows::set_amounts(sum, amounts_of(cells[5], cells[6]));
        if (const std::uint64_t least = number_of(cells[7]); least != 0) sum.round_trip_min_ns = least;
        metrics::add_round_trips(*row, sum);
    }
    return {};
}

}  // namespace

base::Result<FleetPaths> ask_paths(Engine& engine, const Scope& scope, std::uint64_t top) {
    auto chosen = choose(engine, scope, top);
    if (!chosen) return base::Failure{chosen.error()};
    FleetPaths out;
    out.all = chosen->all;
    if (chosen->pairs.empty()) return out;
    auto known = ask_rows(engine, scope, chosen->pairs);
    if (!known) return base::Failure{known.error()};
    if (const auto added = add_round_trips(engine, scope, chosen->pairs, *known); !added)
        return base::Failure{added.error()};
    for (const PairName& name : chosen->pairs) {
        const auto at = known->pairs.find(name);
        if (at == known->pairs.end()) continue;
        PathPair& pair = out.pairs.emplace_back(std::move(at->second));
        pair.entropies = std::max<std::uint64_t>(pair.entropies, pair.rows.size());
        pair.receiver = metrics::class_of(known->outcomes[std::get<2>(name)]);
        metrics::compare_paths(pair);
    }
    return out;
}

}  // namespace fleet::questions
