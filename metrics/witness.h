#pragma once
#include <cstdint>

#include "metrics/operation.h"
#include "metrics/snapshot.h"
#include "metrics/state.h"

namespace metrics {

/// Is told what the engine learns of each frame, at the moment it learns it: for those who show frames one by one.
/// Flows are named by their ids. An engine with a witness takes every packet the long way; figures are the same.
class Witness {
public:
    virtual ~Witness() = default;

    /// The frame has a packet (iWARP: a segment) of the flow. Once a frame and flow, before all else about it.
    virtual void packet(std::uint64_t flow, std::uint64_t frame) = 0;
    /// What FlowSnapshot::exhibits counts. `value` as EventKind says.
    virtual void event(std::uint64_t flow, EventKind kind, std::uint64_t frame, std::uint64_t value) = 0;
    /// A data packet ended a gap of the flow's sending: where that time went. `ns` includes the packet's own wire time
    /// of the gap's beginning, as the attribution counts it.
    virtual void gap(std::uint64_t flow, State state, std::uint64_t ns, std::uint64_t frame) = 0;
    /// The frame repeats what an earlier one carried; 0 where that one is not known.
    virtual void repeats(std::uint64_t flow, std::uint64_t frame, std::uint64_t of_frame) = 0;
    /// A message was posted as a whole: its last packet passed. `position` names it until it is answered; `first_frame`
    /// is 0 where its beginning was not seen.
    virtual void message(std::uint64_t flow, Operation operation, std::uint64_t position, std::uint64_t bytes,
                         std::uint64_t first_frame, std::uint64_t frame) = 0;
    /// All messages of the flow up to `position` are answered by the frame, an ACK or a response of the reverse flow.
    /// `latency_ns` is what was recorded for the one at `position`; absent where none was (sent again, merged).
    virtual void answered(std::uint64_t flow, std::uint64_t position, const std::uint64_t* latency_ns,
                          std::uint64_t frame) = 0;
    /// What is outstanding on the flow after the frame.
    virtual void outstanding(std::uint64_t flow, std::uint64_t messages, std::uint64_t bytes, std::uint64_t frame) = 0;
};

}  // namespace metrics
