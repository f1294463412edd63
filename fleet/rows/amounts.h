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
};

constexpr std::uint32_t amount_key(AmountKind kind, std::uint32_t index, std::uint32_t offset = 0) {
    return (static_cast<std::uint32_t>(kind) + offset) << 16 | index;
}
/// The index of a distribution's exact sum.
inline constexpr std::uint32_t sum_index = 0xffff;

using Amounts = std::map<std::uint32_t, std::uint64_t>;

/// Keys ascending, and the amounts to them; amounts of 0 are left out.
void append_amounts(const metrics::FlowSnapshot& flow, Numbers& keys, Numbers& values);
/// Sets the figures of a flow that has none yet. Keys of later versions are ignored.
void set_amounts(metrics::FlowSnapshot& flow, const Amounts& amounts);

}  // namespace fleet::rows
