#pragma once
#include <cstdint>

#include "metrics/state.h"

namespace metrics {

/// Why a packet was transmitted again, as far as the wire tells.
enum class RepeatCause : std::uint8_t { none, rnr_nak, nak, timeout };

/// All that the rules may know when a data packet closes the gap behind its predecessor. Times are ns of the capture's
/// clock; a time that never came is `never`. Data packets are requests with or without payload and READ responses, not
/// acknowledgements.
struct Situation {
    static constexpr std::int64_t never = INT64_MIN;

    std::int64_t now_ns = 0;
    std::uint32_t wire_bytes = 0;  ///< of the closing packet, preamble and gap included
    bool again = false;            ///< the closing packet repeats one
    RepeatCause cause = RepeatCause::none;
    bool mid_message = false;     ///< the closing packet goes on with a message that its predecessor left unfinished
    bool response = false;        ///< the closing packet is a READ response: the responder's time
    bool unobserved = false;      ///< packets are missing at the tap between the two, or the tap dropped some
    bool wants_response = false;  ///< the closing packet asks for a response (READ, atomic)

    std::uint32_t messages = 0;  ///< outstanding just before the closing packet
    std::uint64_t bytes = 0;
    std::uint32_t responses = 0;     ///< READ and atomics outstanding just before it
    std::uint32_t messages_max = 0;  ///< running maximum
    std::uint64_t bytes_max = 0;
    std::uint32_t responses_max = 0;
    std::uint32_t responses_limit = 0;  ///< ORD, where the set-up told it; else 0

    std::int64_t freed_ns = never;     ///< when an acknowledgement last took messages from the ledger
    std::int64_t response_ns = never;  ///< when a READ or atomic response last completed
    std::int64_t inbound_ns = never;   ///< when the peer's last message in the other direction ended
    std::int64_t signal_ns = never;    ///< last CNP for this flow; iWARP: last ACK with ECE
    bool credit_exhausted =
        false;            ///< just before: AETH credits at zero, or the TCP receive window below the next FPDU
    bool paused = false;  ///< a pause frame that holds for this sender fell into the gap
    std::uint64_t sibling_bytes = 0;  ///< that the same host put on the wire in the gap for others, overhead included
    std::uint64_t link_bits_per_sec = 0;  ///< 0 = unknown: then wire times are zero
    std::uint64_t round_trip_min_ns = 0;  ///< 0 = unknown
};

struct AttributionOptions {
    std::uint64_t reaction_tolerance_ns = 0;           ///< ε; 0 = learnt from the flow's own fastest reactions
    std::uint64_t congestion_memory_ns = 300'000'000;  ///< τ: longest time for which a CNP can explain a gap
    double sibling_share = 0.7;                        ///< θ
};

/// Splits the wall time of one flow's send direction. Trivially copyable, no pointers, no allocation; at most 256
/// octets. The sum of `states(last)` is exactly the time from the first packet to `last`.
class Attribution {
public:
    /// A data packet has passed. The first one starts the clock. Packets whose time lies before their predecessor's
    /// close a gap of zero.
    void packet(const Situation& situation, const AttributionOptions& options);
    /// The states up to `now_ns`, the open gap named provisionally: in flight where `messages` are outstanding, else
    /// idle.
    StateTimes states(std::int64_t now_ns, std::uint32_t messages) const;

    bool started() const;
    std::int64_t first_ns() const;
    std::int64_t last_ns() const;                 ///< of the last data packet
    std::uint64_t unsure_ns() const;              ///< what ε / 2 or ε * 2 would have named otherwise
    std::uint64_t queueing_ns() const;            ///< of ack_window: beyond the least round trip
    std::uint64_t reaction_tolerance_ns() const;  ///< ε in force
    State last_state() const;                     ///< what the last gap was
    std::uint64_t last_gap_ns() const;
};

/// How long octets take on a link of that rate; rounded up; 0 where the rate is unknown.
std::uint64_t wire_time_ns(std::uint64_t bytes, std::uint64_t bits_per_sec);

}  // namespace metrics
