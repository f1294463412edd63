#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "wire/field.h"

namespace fabric {

/// What a port counts. IBTA vol. 1, 16.1.3.5 (PortCounters) and 16.1.4.11 (PortCountersExtended).
enum class Counter : std::uint8_t {
    transmit_bytes,
    receive_bytes,
    transmit_packets,
    receive_packets,
    transmit_wait,
    symbol_errors,
    link_recoveries,
    link_downed,
    receive_errors,
    receive_remote_errors,
    receive_relay_errors,
    transmit_discards,
    transmit_constraint_errors,
    receive_constraint_errors,
    integrity_errors,
    buffer_overruns,
    vl15_dropped,
};
inline constexpr std::size_t counter_count = 17;

/// How a counter is named, and where it stands in the attributes.
struct CounterRow {
    Counter counter;
    std::string_view name;       ///< in JSON: `symbol_errors`
    std::string_view label;      ///< in IBTA's words: `SymbolErrorCounter`
    wire::FieldInfo field;       ///< in PortCounters
    wire::FieldInfo wide_field;  ///< in PortCountersExtended
    unsigned scale = 1;          ///< data are counted in units of 4 bytes
};
/// Of data and packets, which PortCountersExtended always has. It has the others if the port says so.
constexpr bool is_traffic(Counter counter) { return counter <= Counter::receive_packets; }

/// In the order of the enumeration.
std::span<const CounterRow> counter_rows();
const CounterRow& row_of(Counter counter);

/// The counters of one port at one time.
struct CounterReading {
    std::int64_t time_ns = 0;  ///< since 1970
    std::array<std::optional<std::uint64_t>, counter_count> values = {};
    std::array<bool, counter_count> at_limit = {};  ///< the counter has stopped at its greatest value

    std::optional<std::uint64_t> value(Counter counter) const { return values[static_cast<std::size_t>(counter)]; }
    bool is_at_limit(Counter counter) const { return at_limit[static_cast<std::size_t>(counter)]; }
    void set(Counter counter, std::uint64_t value, bool limit) {
        values[static_cast<std::size_t>(counter)] = value;
        at_limit[static_cast<std::size_t>(counter)] = limit;
    }
};

/// How much a counter grew from one reading to the next. No value if either reading lacks it, if it stopped at its
/// limit before, or if it became smaller: it was reset.
std::optional<std::uint64_t> growth(const CounterReading& before, const CounterReading& after, Counter counter);
/// The same per second.
std::optional<double> growth_per_sec(const CounterReading& before, const CounterReading& after, Counter counter);

}  // namespace fabric
