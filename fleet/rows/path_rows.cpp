#include "fleet/rows/path_rows.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "fleet/rows/flow_rows.h"
#include "metrics/figures/path_sums.h"

namespace fleet::rows {
namespace {

using metrics::EntropyWindows;
using metrics::HoleOutcomes;
using metrics::LossTimes;
using N = Nature;
using T = Type;

constexpr std::array entropy_counters{
    &metrics::EntropyFigures::packets,          &metrics::EntropyFigures::wire_bytes,
    &metrics::EntropyFigures::ecn_ce_packets,   &metrics::EntropyFigures::late_packets,
    &metrics::EntropyFigures::repeated_packets, &metrics::EntropyFigures::loss_episodes,
};

constexpr std::array loss_counters{&LossTimes::packets, &LossTimes::episodes, &LossTimes::packets_since,
                                   &LossTimes::widest_gap};

/// Of `losses` and `losses_before` of the windows, the counters and the time of the last loss, and when routes changed.
constexpr std::array state_columns{
    Column{"present_packets", T::u64, N::restarting},       Column{"present_episodes", T::u64, N::restarting},
    Column{"present_packets_since", T::u64, N::restarting}, Column{"present_widest_gap", T::u64, N::restarting},
    Column{"present_last_ns", T::i64, N::restarting},       Column{"former_packets", T::u64, N::restarting},
    Column{"former_episodes", T::u64, N::restarting},       Column{"former_packets_since", T::u64, N::restarting},
    Column{"former_widest_gap", T::u64, N::restarting},     Column{"former_last_ns", T::i64, N::restarting},
    Column{"rerouted_ns", T::i64, N::restarting},
};

EntropyWindows merged(const EntropyWindows& earlier, const EntropyWindows& later) {
    metrics::PathWindowFigures sum;
    metrics::PathWindowFigures other;
    sum.rows = {earlier};
    other.rows = {later};
    metrics::merge_windows(sum, other, metrics::PartOrder::other_follows);
    return sum.rows.front();
}

/// Signs add up over changes of routes too: in tables, sums never shrink. Losses are those since the last change.
void merge_entropy(EntropyWindows& into, const EntropyWindows& one) {
    into.entropy = one.entropy;
    EntropyWindows sum = merged(into, one);
    if (sum.rerouted_ns != into.rerouted_ns) {
        EntropyWindows of_one_route = one;
        of_one_route.rerouted_ns = into.rerouted_ns;
        of_one_route = merged(into, of_one_route);
        sum.marks = of_one_route.marks;
        sum.delays = of_one_route.delays;
        sum.longer_ns = std::move(of_one_route.longer_ns);
    }
    into = std::move(sum);
}

Amounts amounts_of(const EntropyWindows& windows, const metrics::Histogram& evenness, const HoleOutcomes& outcomes) {
    Amounts out;
    std::uint32_t place = 0;
    for (const metrics::SignCounts& signs : {windows.marks, windows.delays})
        for (const std::uint64_t count : {signs.more, signs.less})
            add_amount(out, AmountKind::path_sign, place++, count);
    place = 0;
    for (const std::uint64_t count : {outcomes.in_order, outcomes.selective, outcomes.placing})
        add_amount(out, AmountKind::path_outcome, place++, count);
    add_distribution(out, AmountKind::path_longer, windows.longer_ns);
    add_distribution(out, AmountKind::path_evenness, evenness);
    return out;
}

}  // namespace

const Table& paths_table() {
    static const Table table = [] {
        Table made{.name = "paths",
                   .columns = columns_with_place({{"transport", T::label, N::place},
                                                  {"source_address", T::label, N::place},
                                                  {"destination_address", T::label, N::place},
                                                  {"dscp", T::u8, N::place},
                                                  {"entropy", T::u64, N::place},
                                                  {"since", T::u32, N::place},
                                                  {"flows", T::u64_list, N::note},
                                                  {"packets", T::u64, N::counter},
                                                  {"wire_bytes", T::u64, N::counter},
                                                  {"ecn_ce_packets", T::u64, N::counter},
                                                  {"late_packets", T::u64, N::counter},
                                                  {"repeated_packets", T::u64, N::counter},
                                                  {"loss_episodes", T::u64, N::counter},
                                                  {"entropy_changes", T::u64, N::counter},
                                                  {"entropies", T::u64, N::identity},
                                                  {"hop_limits", T::u32_list, N::state}}),
                   .key = "hour,host,boot,source_address,destination_address,dscp,transport,entropy,since,sequence",
                   .rolls_up = true,
                   .since = 2};
        made.columns.insert(made.columns.end(), state_columns.begin(), state_columns.end());
        for (const Column& column : std::initializer_list<Column>{{"amount_keys", T::u32_list, N::amounts},
                                                                  {"amounts", T::u64_list, N::amounts},
                                                                  {"own_end", T::label, N::state},
                                                                  {"begins", T::u8, N::note}})
            made.columns.push_back(column);
        return made;
    }();
    return table;
}

PathSums::Sum& PathSums::sum_of(const Key& key, std::span<const metrics::Address> own, std::uint32_t sequence) {
    Sum& sum = sums_[key];
    if (sum.last == sequence) return sum;
    if (sum.last == 0) sum.since = sequence;
    sum.last = sequence;
    sum.flows.clear();
    metrics::FlowSnapshot ends;
    ends.source.address = std::get<1>(key);
    ends.destination.address = std::get<2>(key);
    sum.own_end = own_end(ends, own);
    return sum;
}

void PathSums::add_flow(const metrics::FlowSnapshot& flow, std::span<const metrics::Address> own,
                        std::uint32_t sequence) {
    Key key{flow.transport, flow.source.address, flow.destination.address, metrics::dscp_of(flow), 0};
    Sum& pair = sum_of(key, own, sequence);
    for (const metrics::EntropyFigures& one : metrics::entropies_of(flow)) {
        std::get<4>(key) = one.entropy.number();
        Sum& sum = sum_of(key, own, sequence);
        for (const auto member : entropy_counters) sum.figures.*member += one.*member;
        sum.flows.push_back(flow.id);
    }
    pair.figures.late_packets += flow.reordered_packets.value_or(0);
    if (!flow.path) return;
    pair.entropies = std::max(pair.entropies, flow.path->entropies);
    pair.entropy_changes += flow.path->entropy_changes;
    pair.outcomes.in_order += flow.path->outcomes.in_order;
    pair.outcomes.selective += flow.path->outcomes.selective;
    pair.outcomes.placing += flow.path->outcomes.placing;
    for (const std::uint8_t limit : flow.path->hop_limits)
        if (std::ranges::find(pair.hop_limits, std::uint64_t{limit}) == pair.hop_limits.end())
            pair.hop_limits.push_back(limit);
}

/// Windows are of packets over UDP or InfiniBand, so that the transport of their pair is another one than iWARP.
void PathSums::add_windows(const metrics::PathWindowFigures& windows, std::uint32_t sequence) {
    for (const wire::Transport transport :
         {wire::Transport::roce2, wire::Transport::roce1, wire::Transport::infiniband}) {
        Key key{transport, windows.source, windows.destination, windows.dscp, 0};
        const auto pair = sums_.find(key);
        if (pair == sums_.end() || pair->second.last != sequence) continue;
        pair->second.evenness.merge(windows.max_over_mean_permille);
        for (const EntropyWindows& row : windows.rows) {
            std::get<4>(key) = row.entropy.number();
            if (const auto sum = sums_.find(key); sum != sums_.end()) merge_entropy(sum->second.windows, row);
        }
    }
}

void PathSums::add(const metrics::Snapshot& difference, std::span<const metrics::Address> own, std::uint32_t sequence) {
    for (const metrics::FlowSnapshot& flow : difference.flows)
        if (flow.entropy.known() && flow.packets != 0) add_flow(flow, own, sequence);
    for (const metrics::PathWindowFigures& windows : difference.path_windows) add_windows(windows, sequence);
    const std::uint32_t idle = sums_.size() > most_sums ? 0 : most_idle_intervals;
    std::erase_if(sums_, [&](const auto& each) { return each.second.last + idle < sequence; });
}

Row PathSums::row_of(const Key& key, const Sum& sum) {
    const auto& [transport, source, destination, dscp, entropy] = key;
    Row row;
    append_place(row, {});
    row.emplace_back(std::string(metrics::name_of(transport)));
    row.emplace_back(metrics::to_text(source));
    row.emplace_back(metrics::to_text(destination));
    row.emplace_back(std::uint64_t{dscp});
    row.emplace_back(entropy);
    row.emplace_back(std::uint64_t{sum.since});
    row.emplace_back(sum.flows);
    for (const auto member : entropy_counters) row.emplace_back(sum.figures.*member);
    row.emplace_back(sum.entropy_changes);
    row.emplace_back(sum.entropies);
    row.emplace_back(sum.hop_limits);
    for (const LossTimes EntropyWindows::*const losses : {&EntropyWindows::losses, &EntropyWindows::losses_before}) {
        for (const auto member : loss_counters) row.emplace_back(sum.windows.*losses.*member);
        row.emplace_back((sum.windows.*losses).last_ns);
    }
    row.emplace_back(sum.windows.rerouted_ns);
    append_amounts(row, amounts_of(sum.windows, sum.evenness, sum.outcomes));
    row.emplace_back(sum.own_end);
    row.emplace_back(std::uint64_t{0});
    return row;
}

StateRows PathSums::rows(std::uint32_t since_sequence) const {
    StateRows out;
    for (const auto& [key, sum] : sums_) {
        if (sum.last < since_sequence) continue;
        const auto& [transport, source, destination, dscp, entropy] = key;
        out.push_back({fmt::format("{}/{}/{}/{}/{}/{}", metrics::name_of(transport), metrics::to_text(source),
                                   metrics::to_text(destination), dscp, entropy, sum.since),
                       row_of(key, sum)});
    }
    return out;
}

std::span<const Column> path_state_columns() { return state_columns; }

void set_path_states(EntropyWindows& windows, std::span<const std::int64_t> states) {
    std::size_t at = 0;
    for (LossTimes* const losses : {&windows.losses, &windows.losses_before}) {
        for (const auto member : loss_counters) losses->*member = static_cast<std::uint64_t>(states[at++]);
        losses->last_ns = states[at++];
    }
    windows.rerouted_ns = states[at];
}

EntropyWindows windows_of(const Amounts& amounts) {
    EntropyWindows windows;
    std::uint32_t place = 0;
    for (metrics::SignCounts* const signs : {&windows.marks, &windows.delays}) {
        signs->more = amount_of(amounts, AmountKind::path_sign, place++);
        signs->less = amount_of(amounts, AmountKind::path_sign, place++);
    }
    windows.longer_ns = distribution_of(amounts, AmountKind::path_longer);
    return windows;
}

HoleOutcomes outcomes_of(const Amounts& amounts) {
    return {amount_of(amounts, AmountKind::path_outcome, 0), amount_of(amounts, AmountKind::path_outcome, 1),
            amount_of(amounts, AmountKind::path_outcome, 2)};
}

}  // namespace fleet::rows
