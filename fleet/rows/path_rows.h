#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <tuple>

#include "fleet/rows/amounts.h"
#include "fleet/rows/state_rows.h"
#include "metrics/figures/snapshot.h"

/// Entropies between hosts, as `paths` shows them.
namespace fleet::rows {

/// A row for each entropy of a pair of hosts with one DSCP, and one with the entropy 0 for what the pair has as a
/// whole.
const Table& paths_table();

/// Adds intervals up: flows end and are forgotten, so that their own sums may shrink.
class PathSums {
public:
    /// The traffic of the interval `sequence`.
    void add(const metrics::Snapshot& difference, std::span<const metrics::Address> own, std::uint32_t sequence);
    /// What had traffic in the interval `since_sequence` or later.
    StateRows rows(std::uint32_t since_sequence) const;

    /// How long a sum without traffic is kept. One that comes back later begins at 0 again.
    static constexpr std::uint32_t most_idle_intervals = 90;
    /// Beyond this number, sums without traffic in the last interval are not kept. The engine's flows bound the others.
    static constexpr std::size_t most_sums = 100'000;

private:
    /// Transport, source, destination, DSCP, entropy.
    using Key = std::tuple<wire::Transport, metrics::Address, metrics::Address, std::uint8_t, std::uint64_t>;
    struct Sum {
        std::uint32_t since = 0;  ///< the interval in which it began: sums that began at different times are apart
        std::uint32_t last = 0;   ///< the last interval with traffic
        std::string own_end = {};
        metrics::EntropyFigures figures = {};
        Numbers flows = {};  ///< of the last interval
        std::uint64_t entropies = 0;
        std::uint64_t entropy_changes = 0;
        Numbers hop_limits = {};
        metrics::EntropyWindows windows = {};
        metrics::Histogram evenness = {};
        metrics::HoleOutcomes outcomes = {};
    };
    Sum& sum_of(const Key& key, std::span<const metrics::Address> own, std::uint32_t sequence);
    void add_flow(const metrics::FlowSnapshot& flow, std::span<const metrics::Address> own, std::uint32_t sequence);
    void add_windows(const metrics::PathWindowFigures& windows, std::uint32_t sequence);
    static Row row_of(const Key& key, const Sum& sum);

    std::map<Key, Sum> sums_ = {};
};

/// Marks and delays of an entropy, from the amounts of its row.
metrics::EntropyWindows windows_of(const Amounts& amounts);
metrics::HoleOutcomes outcomes_of(const Amounts& amounts);

/// The columns that say when an entropy lost packets, since the routes changed last and until then, and when they
/// changed.
std::span<const Column> path_state_columns();
/// `states`: the values of these columns, in their order.
void set_path_states(metrics::EntropyWindows& windows, std::span<const std::int64_t> states);

}  // namespace fleet::rows
