#pragma once
/// Situations by hand for the tests of metrics::Attribution.
#include <cstdint>

#include "metrics/measure/account/attribution.h"

namespace attribution_test {

using metrics::Attribution;
using metrics::AttributionOptions;
using metrics::index_of;
using metrics::RepeatCause;
using metrics::Situation;
using metrics::State;
using metrics::StateTimes;

inline constexpr std::uint64_t gigabit = 1'000'000'000;
inline constexpr std::int64_t start = 1'700'000'000'000'000'000;  // ns since 1970
inline constexpr std::int64_t us = 1000;
inline constexpr std::int64_t ms = 1'000'000;
inline constexpr AttributionOptions ten_us{10'000};  ///< ε; what tests use unless they say otherwise

/// A packet of 1250 octets on a link of 10 Gbit/s: 1 µs of wire time.
Situation at(std::int64_t now_ns);
/// One that leaves `depth` messages outstanding, the most there ever were.
Situation full_window(std::uint32_t depth);

std::uint64_t sum(const StateTimes& times);
std::uint64_t time_in(const Attribution& attribution, State state);

/// A gap of 1 ms between a first packet and one like `closing`.
Attribution one_gap(Situation first, Situation closing, const AttributionOptions& options = ten_us);
/// The state of that gap.
State named(const Situation& first, const Situation& closing, const AttributionOptions& options = ten_us);

}  // namespace attribution_test
