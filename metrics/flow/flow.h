#pragma once
#include <array>
#include <cstdint>
#include <type_traits>

#include "metrics/attribution/attribution.h"
#include "metrics/flow/flow_key.h"
#include "metrics/histogram/compact_histogram.h"
#include "metrics/ledger/ledger.h"
#include "metrics/operation.h"
#include "metrics/snapshot.h"

/// What the engine keeps of a flow while it lives. Nobody outside metrics/ sees it: `Snapshot` is what is shown.
namespace metrics {

using FlowIndex = std::uint32_t;
inline constexpr FlowIndex no_flow = 0xffffffff;

/// The distributions of a flow.
enum class FlowHistogram : std::uint8_t {
    latency,  ///< the first of eight, one an Operation
    first_response = latency + operation_count,
    message_bytes,
    message_duration,
    rnr_timer,
    cnp_interval,
    round_trip,  ///< iWARP: TCP octets -> ACK
    nak_generation,
    nak_reaction,
    recovery_total,
};
inline constexpr std::size_t flow_histogram_count = 17;
constexpr FlowHistogram latency_of(Operation operation) { return static_cast<FlowHistogram>(index_of(operation)); }

/// Packets of a flow, and what is marked on them. Every packet touches it.
struct PacketCounts {
    std::int64_t first_ns = 0;
    std::int64_t last_ns = 0;
    std::uint64_t packets = 0;
    std::uint64_t wire_bytes = 0;
    std::uint64_t payload_bytes = 0;
    std::uint32_t acknowledgements = 0;
    std::uint32_t ce = 0;
    std::uint32_t ecn_capable = 0;
    std::uint32_t crc_bad = 0;
};

/// The requests of this flow's sender, in PSN order (IBTA vol. 1, 9.7); iWARP uses positions of TCP's sequence.
struct RequestState {
    std::uint64_t next = 0;          ///< position that a new packet will have; 0 = nothing sent yet
    std::uint64_t acknowledged = 0;  ///< everything before it is
    std::uint64_t message_bytes = 0;
    std::int64_t message_first_ns = 0;
    std::uint64_t sibling_bytes_then = 0;  ///< FrameContext::source_wire_bytes at the last data packet
    std::uint32_t own_bytes_since = 0;     ///< of it, this flow's own
    std::uint32_t pauses_then = 0;
    std::int64_t freed_ns = Situation::never;
    std::int64_t response_ns = Situation::never;     ///< a READ or atomic completed
    std::int64_t message_end_ns = Situation::never;  ///< last packet of the last message
    std::uint32_t repeated = 0;                      ///< packets
    std::uint32_t missing = 0;
    std::uint32_t reordered = 0;
    std::uint32_t duplicates = 0;
    std::uint32_t round_trip_min_ns = 0xffffffff;
    std::uint32_t reaction_min_ns = 0xffffffff;
    std::uint16_t mtu_payload = 0;  ///< largest payload of a packet that was not the last of its message
    Operation operation = Operation::send;
    bool in_message = false;
    bool message_again = false;  ///< some of the message under way was transmitted again
};

/// Where the frames that show something are. Taken from a pool at the first such event.
struct FlowExhibits {
    struct Row {
        std::uint32_t count = 0;
        std::uint8_t kept = 0;
        std::array<std::uint64_t, 4> frames{};
        std::uint64_t value_max = 0;
        std::uint64_t value_sum = 0;
    };
};

}  // namespace metrics
