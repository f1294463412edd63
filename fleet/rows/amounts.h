#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "fleet/rows/row_table.h"
#include "metrics/figures/snapshot.h"

/// The figures of a flow that most flows lack, and its distributions: pairs of a key and an amount. Amounts of one key
/// add up, so the engine sums, subtracts and merges them (sumMap) without a loss: a distribution is its buckets.
namespace fleet::rows {

/// The upper half of a key; the lower half is an index, of a distribution the bucket (metrics::HistogramBuckets). The
/// numbers are in databases: they never change.
enum class AmountKind : std::uint16_t {
    operation_count = 1,  ///< index: metrics::Operation
    operation_bytes = 2,
    nak = 3,        ///< index: metrics::NakCode
    state_ns = 4,   ///< index: metrics::State
    icmp = 5,       ///< index: wire::IcmpErrorKind
    event = 6,      ///< index: metrics::EventKind
    tcp = 7,        ///< index: place in metrics::fields::tcp_counters
    recovery = 8,   ///< index: 0
    latency = 16,   ///< and the 7 that follow, by metrics::Operation
    response = 24,  ///< and the 7 that follow, by metrics::Operation
    message_bytes = 32,
    message_duration = 33,
    rnr_timer = 34,
    cnp_interval = 35,
    recovery_time = 36,  ///< and the 2 that follow: place in metrics::fields::recovery_histograms
    round_trip = 39,
    // Of `commands`.
    command_state_ns = 64,    ///< index: place in metrics::command_state_names
    connection_counter = 65,  ///< index: place in connection_counters of command_rows.cpp
    command_counter = 66,     ///< index: place in kind_counters of command_rows.cpp
    command_error = 67,       ///< index: place in metrics::command_error_names
    command_latency = 72,
    command_size = 73,
    command_part = 74,   ///< and the 4 that follow: place in metrics::command_part_names
    command_think = 80,  ///< and the 3 that follow: place in metrics::command_depth_names
    command_host_next = 84,
    // Of `paths`.
    path_sign = 96,      ///< index: marks more, marks less, delays more, delays less
    path_outcome = 97,   ///< index: in_order, selective, placing
    path_longer = 98,    ///< by how much the median round trip of an entropy was longer
    path_evenness = 99,  ///< the greatest entropy by the mean, in thousandths
};

constexpr std::uint32_t amount_key(AmountKind kind, std::uint32_t index, std::uint32_t offset = 0) {
    return (static_cast<std::uint32_t>(kind) + offset) << 16 | index;
}
/// The index of a distribution's exact sum.
inline constexpr std::uint32_t sum_index = 0xffff;

using Amounts = std::map<std::uint32_t, std::uint64_t>;

// Parts of rows that have amounts.
/// Adds the amount, unless it is 0.
void add_amount(Amounts& out, AmountKind kind, std::uint32_t index, std::uint64_t value);
/// Adds the buckets of a distribution, and its sum.
void add_distribution(Amounts& out, AmountKind kind, const metrics::Histogram& histogram, std::uint32_t offset = 0);
/// 0 if there is no such amount.
std::uint64_t amount_of(const Amounts& amounts, AmountKind kind, std::uint32_t index);
metrics::Histogram distribution_of(const Amounts& amounts, AmountKind kind, std::uint32_t offset = 0);

/// Adds figures to amounts. A function that shows figures and their kinds to a visitor is the one list of what amounts
/// hold.
class AmountCollector {
public:
    explicit AmountCollector(Amounts& out) : out_(out) {}
    void counter(AmountKind kind, std::uint32_t index, const std::uint64_t& value) {
        add_amount(out_, kind, index, value);
    }
    void distribution(AmountKind kind, std::uint32_t offset, const metrics::Histogram& histogram) {
        add_distribution(out_, kind, histogram, offset);
    }

private:
    Amounts& out_;
};

/// Sets figures that are among the amounts, and leaves the others.
class AmountSetter {
public:
    explicit AmountSetter(const Amounts& amounts) : amounts_(amounts) {}
    void counter(AmountKind kind, std::uint32_t index, std::uint64_t& value) const;
    void distribution(AmountKind kind, std::uint32_t offset, metrics::Histogram& histogram) const;

protected:
    const Amounts& amounts() const { return amounts_; }

private:
    const Amounts& amounts_;
};

/// Appends the cells of `amount_keys` and `amounts`: keys ascending, and the amounts to them.
void append_amounts(Row& row, const Amounts& amounts);

Amounts amounts_of(const metrics::FlowSnapshot& flow);
/// Sets the figures of a flow that has none yet. Keys of later versions are ignored.
void set_amounts(metrics::FlowSnapshot& flow, const Amounts& amounts);

}  // namespace fleet::rows
