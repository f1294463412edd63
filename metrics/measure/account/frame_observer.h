#pragma once
#include <cstdint>

#include "metrics/figures/operation.h"
#include "metrics/figures/repair.h"
#include "metrics/figures/snapshot.h"
#include "metrics/figures/state.h"

namespace metrics::inline measure::inline account {

/// Receives what the engine learns of each frame, at the time when the engine learns it. For programs that show single
/// frames. Flows are named by their ids. An engine with an observer uses no shortcut for any packet; figures are the
/// same. The calls come from the threads that work for the engine: if there are several, each call may come from
/// another one.
class FrameObserver {
public:
    virtual ~FrameObserver() = default;

    /// The frame has a packet (iWARP: a segment) of the flow. Called once for each packet and flow, before any other
    /// call about the packet.
    virtual void packet(std::uint64_t flow, std::uint64_t frame) = 0;
    /// The packet is the first one of another connection with the same flow key. The packet counts for that flow and no
    /// longer for this one. packet() of that flow follows.
    virtual void taken_back(std::uint64_t flow, std::uint64_t frame) = 0;
    /// What FlowSnapshot::event_summaries counts. `value` as EventKind says.
    virtual void event(std::uint64_t flow, EventKind kind, std::uint64_t frame, std::uint64_t value) = 0;

    /// The time between two data packets, in its two parts: docs/metrics.md, "Where the time went".
    struct Gap {
        State state{};              ///< that names the gap
        std::uint64_t ns = 0;       ///< without the packet's own wire time, unless that was all
        bool again = false;         ///< the packet that ended it was sent again
        std::uint64_t wire_ns = 0;  ///< in addition to `ns`; of transmit_again where `again`, else of transmit_new
    };
    /// A data packet ended a gap in the flow's sending: how that time was used.
    virtual void gap(std::uint64_t flow, const Gap& gap, std::uint64_t frame) = 0;
    /// The frame repeats what an earlier one carried; 0 if that one is unknown.
    virtual void repeats(std::uint64_t flow, std::uint64_t frame, std::uint64_t of_frame) = 0;

    /// The packet of the flow in the frame begins to repair a loss. What the figures hold of `repair` is recorded
    /// there, too, where the times are known without remembering frames.
    virtual void repaired(std::uint64_t flow, const Repair& repair, std::uint64_t frame) = 0;

    struct Message {
        Operation operation{};
        std::uint64_t position =
            0;  ///< names it until it is answered; 0: it is answered already, or never will be (UC, UD)
        std::uint64_t bytes = 0;        ///< 0 if its beginning was not seen and nothing else shows the size
        std::uint64_t first_frame = 0;  ///< 0 if its beginning was not seen
        bool late = false;              ///< messages of greater positions came before it
    };
    /// In the positions of iWARP's READs and atomics. They are answered apart from the rest, in an order of their own:
    /// what answered() says up to a position with this bit is about those with it, and the other way round.
    static constexpr std::uint64_t answered_apart = std::uint64_t{1} << 63;

    /// A message was posted as a whole: its last packet passed in `frame`, and the operation's count goes up. If
    /// `frame` is 0, its last packet is missing, and `position` is the last place where it can have been: another call
    /// counts it if that packet passes after all.
    virtual void message(std::uint64_t flow, const Message& message, std::uint64_t frame) = 0;
    /// The flow's last message, a Write, ends only with the Immediate Data in this frame, and counts as
    /// write_immediate. Where it is not answered yet, `position` is its new one. RFC 7306, 6.
    virtual void continued(std::uint64_t flow, std::uint64_t position, std::uint64_t frame) = 0;
    /// The flow's message at `position`, a READ, takes all up to `last`: that will name it from now on. It is the last
    /// message, or takes less than before.
    virtual void extended(std::uint64_t flow, std::uint64_t position, std::uint64_t last) {
        static_cast<void>(flow);
        static_cast<void>(position);
        static_cast<void>(last);
    }
    /// The frame, an ACK or a response of the reverse flow, answered the message at `position`, and its latency was
    /// recorded. Without a position, all messages are answered that were posted before the first one after `position`,
    /// whatever happened to their latencies (sent again, merged). `frame` is 0 if they had been answered before they
    /// were seen.
    virtual void answered(std::uint64_t flow, std::uint64_t position, const std::uint64_t* latency_ns,
                          std::uint64_t frame) = 0;
    /// The flow's outstanding messages were given up: their answers will not be reported. If `apart`, only those whose
    /// positions have answered_apart; else all others.
    virtual void forgotten(std::uint64_t flow, bool apart) = 0;
    /// The engine has dropped the flow, because it was idle or room was short: its id does not come again.
    virtual void left(std::uint64_t flow) { static_cast<void>(flow); }
    /// The messages outstanding on the flow after the packet. Of several calls for a frame, the last one is valid.
    virtual void outstanding(std::uint64_t flow, std::uint64_t messages, std::uint64_t bytes, std::uint64_t frame) = 0;
};

}  // namespace metrics::measure::account
