#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

/// What counters mean, which drivers call by different names, count in different units, and let overflow in different
/// ways. Sources: Linux, Documentation/ABI/stable/sysfs-class-infiniband, and the drivers' tables of names
/// (drivers/infiniband/{hw,sw}/*, drivers/net/ethernet/*).
namespace capture::counters {

/// The same fact, whoever counts it.
enum class Fact : std::uint8_t {
    other,        ///< nothing that a verdict asks for
    octets_sent,  ///< by the port
    octets_received,
    packets_sent,
    packets_received,
    out_of_buffer,  ///< a message came and no receive was posted
    rnr_received,   ///< the peer had no receive posted
    rnr_retries_exceeded,
    out_of_sequence,  ///< a request came that was not the one expected
    sequence_naks,    ///< NAKs that told of a packet lost on the way to the peer
    implied_naks,     ///< a response was missing
    ack_timeouts,     ///< the timer of an unanswered request ran out
    retries_exceeded,
    duplicates,       ///< requests that came again
    retransmissions,  ///< packets, or rounds of them, that were sent again
    adaptive_retransmissions,
    slow_restarts,
    ecn_marked,  ///< packets that came with congestion experienced
    cnp_sent,
    cnp_received,
    icrc_errors,
    wait,            ///< time in which there was something to send and no credit
    pause_sent,      ///< frames; this machine could not take what came
    pause_received,  ///< frames; the network could not take what this machine sends
    pause_sent_time,
    pause_received_time,
    discards_sent,  ///< packets that the port dropped instead of sending
    discards_received,
    receive_errors,
    link_downed,
    cache_misses,  ///< of what the adapter keeps of queue pairs, keys and pages
};

enum class Unit : std::uint8_t {
    times,  ///< packets, frames, events
    octets,
    words,  ///< of four octets: the port_*_data of IBTA's PortCounters
    microseconds,
    ticks,  ///< of a length that is the device's own
};

/// What becomes of a counter that is full.
enum class Width : std::uint8_t {
    wraps_64,
    wraps_32,   ///< mlx5's Q counters, irdma's first generation
    saturates,  ///< IBTA's PortCounters stay at their maximum until they are reset
};

struct Meaning {
    Fact fact = Fact::other;
    Unit unit = Unit::times;
    Width width = Width::wraps_64;
    std::uint8_t priority = 255;  ///< of PFC; 255: of all, or no matter of one

    bool operator==(const Meaning&) const = default;
};

/// Of a counter of an RDMA device, in `counters` or `hw_counters` of sysfs. What is not known counts times in 64 bits.
Meaning meaning_of(std::string_view device_counter);
/// Of a counter of an Ethernet interface, as `ethtool -S` shows it; without value where it is no matter of RDMA.
std::optional<Meaning> meaning_of_ethernet(std::string_view counter);

/// How much was counted between two readings. Without value where the counter was set back, so that nobody knows: a
/// 64-bit counter that fell, or one that saturates. A 32-bit counter is taken to have wrapped where less than half of
/// its range would have been counted.
std::optional<std::uint64_t> growth(std::uint64_t before, std::uint64_t now, const Meaning& meaning);

/// What one step of the counter stands for: 4 octets of `words`, else 1.
std::uint64_t octets_or_times(std::uint64_t value, const Meaning& meaning);

/// "cnp_sent"; "" of Fact::other.
std::string_view name_of(Fact fact);

}  // namespace capture::counters
