#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "wire/counter_fact.h"

/// The meaning of counters. Drivers give them different names, count in different units, and let them overflow in
/// different ways. Sources: Linux, Documentation/ABI/stable/sysfs-class-infiniband, and the drivers' tables of names
/// (drivers/infiniband/{hw,sw}/*, drivers/net/ethernet/*).
namespace capture::counters {

using Fact = wire::CounterFact;

enum class Unit : std::uint8_t {
    times,  ///< packets, frames, events
    octets,
    words,  ///< of four bytes: the port_*_data of IBTA's PortCounters
    microseconds,
    ticks,  ///< of a length that only the device knows
};

/// What happens to a counter at its maximum.
enum class Width : std::uint8_t {
    wraps_64,
    wraps_32,   ///< mlx5's Q counters, irdma's first generation
    saturates,  ///< IBTA's PortCounters stay at their maximum until they are reset
};

struct Meaning {
    Fact fact = Fact::other;
    Unit unit = Unit::times;
    Width width = Width::wraps_64;
    std::uint8_t priority = 255;  ///< of PFC; 255: of all priorities, or not about priorities

    bool operator==(const Meaning&) const = default;
};

/// The meaning of a counter of an RDMA device, in `counters` or `hw_counters` of sysfs. An unknown counter counts times
/// in 64 bits.
Meaning meaning_of(std::string_view device_counter);
/// The meaning of a counter of an Ethernet interface, as `ethtool -S` shows it; no value if it has nothing to do with
/// RDMA.
std::optional<Meaning> meaning_of_ethernet(std::string_view counter);

/// How much was counted between two readings. There is no value if the counter was reset: a 64-bit counter or one that
/// saturates has fallen. A 32-bit counter is assumed to have wrapped if the difference is less than half of its range.
std::optional<std::uint64_t> growth(std::uint64_t before, std::uint64_t now, const Meaning& meaning);

/// What one step of the counter stands for: 4 bytes for `words`, else 1.
std::uint64_t octets_or_times(std::uint64_t value, const Meaning& meaning);

}  // namespace capture::counters
