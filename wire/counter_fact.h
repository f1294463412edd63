#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace wire {

/// What a counter of a device counts, independent of the name that its driver gives it.
enum class CounterFact : std::uint8_t {
    other,        ///< nothing that a verdict asks for
    octets_sent,  ///< by the port
    octets_received,
    packets_sent,
    packets_received,
    out_of_buffer,  ///< a message came and no receive was posted
    rnr_received,   ///< the peer had no receive posted
    rnr_retries_exceeded,
    out_of_sequence,  ///< a request came that was not the one expected
    sequence_naks,    ///< NAKs that reported a packet lost on the way to the peer
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
    cache_misses,  ///< in the adapter's cache of queue pairs, keys and pages
};

inline constexpr std::array<std::string_view, 31> counter_fact_names{"", "octets_sent", "octets_received", "packets_sent", "packets_received", "out_of_buffer", "rnr_received", "rnr_retries_exceeded", "out_of_sequence", "sequence_naks", "implied_naks", "ack_timeouts", "retries_exceeded", "duplicates", "retransmissions", "adaptive_retransmissions", "slow_restarts", "ecn_marked", "cnp_sent", "cnp_received", "icrc_errors", "wait", "pause_sent", "pause_received", "pause_sent_time", "pause_received_time", "discards_sent", "discards_received", "receive_errors", "link_downed", "cache_misses"};
static_assert(counter_fact_names.size() == static_cast<std::size_t>(CounterFact::cache_misses) + 1);

/// "cnp_sent"; "" of CounterFact::other.
constexpr std::string_view name_of(CounterFact fact) { return counter_fact_names[static_cast<std::size_t>(fact)]; }
/// CounterFact::other if no fact has this name.
constexpr CounterFact counter_fact_named(std::string_view name) {
    for (std::size_t i = 0; i < counter_fact_names.size(); ++i)
        if (counter_fact_names[i] == name) return static_cast<CounterFact>(i);
    return CounterFact::other;
}

}  // namespace wire
