#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dissect/dissector.h"
#include "metrics/figures/repair.h"
#include "metrics/figures/snapshot.h"
#include "metrics/measure/account/engine_options.h"
#include "wire/frame.h"

namespace metrics::inline measure::inline notes {

/// What the engine found out about one frame, for one flow that the frame has a packet of.
struct FrameNote {
    std::uint64_t frame = 0;
    std::uint64_t flow = 0;  ///< id, as in FlowSnapshot
    bool packet = true;      ///< the frame has a packet of the flow; else it only says something about the flow

    struct Message {
        Operation operation{};
        std::uint64_t number = 0;          ///< of the flow's messages, from 1; 0: its last packet was not seen
        std::uint64_t bytes = 0;           ///< also 0 if a message without its beginning does not show its size
        std::uint64_t first_frame = 0;     ///< 0: its beginning was not seen
        std::uint64_t last_frame = 0;      ///< the frame that completed it (READ, atomics: the request)
        std::uint64_t response_frame = 0;  ///< that acknowledged or answered it; 0: none yet
        std::optional<std::uint64_t> latency_ns;
    };
    std::vector<Message> messages;  ///< that this frame completed
    std::vector<Message> answers;   ///< of the reverse flow, that this frame acknowledged or answered
    struct Event {
        EventKind kind{};
        std::uint64_t value = 0;  ///< as EventKind says
        std::uint64_t flow = 0;   ///< the flow that the event is about: this flow, or its reverse (a NAK, a CNP)
    };
    std::vector<Event> events;
    std::uint64_t repeats_frame = 0;  ///< that carried the same before; 0: nothing is repeated, or it is unknown
    bool repeats = false;             ///< it carries what was carried before, whether or not that frame is known
    std::optional<Repair> repair;     ///< it begins to repair a loss
    std::optional<State> gap_state;   ///< where the time before this frame went, since the flow's last data packet
    std::uint64_t gap_ns = 0;         ///< of that time, what `gap_state` names
    std::uint64_t wire_ns = 0;        ///< and the rest: what the packet itself took on the wire
    bool sent_again = false;          ///< `wire_ns` is State::transmit_again's, not transmit_new's
    std::uint64_t outstanding_messages = 0;  ///< of the flow after the frame
    std::uint64_t outstanding_bytes = 0;
};

/// "write 17, 65,536 bytes".
std::string text_of(const FrameNote::Message& message);

/// Takes frames, and makes notes on each of them: an Analyzer with an observer. Notes are kept for all frames (a
/// protocol analyser has all frames at hand, too). A packet of a flow takes 64 bytes, a message 64, an event or repeat
/// 24, a flow about 100. A frame ends as many messages as it has FPDUs, or one packet's.
class FrameNotes {
public:
    /// `listener`, if there is one, gets what the dissector finds in each frame while the frame is fed, also in frames
    /// that were captured twice. It must outlive the notes.
    FrameNotes(const EngineOptions& engine, const dissect::DissectorOptions& dissector,
               dissect::Sink* listener = nullptr);
    ~FrameNotes();

    /// Frames in ascending order of their numbers; the bytes are not needed afterwards. Notes on frames with the same
    /// number add up.
    void feed(const wire::Frame& frame);
    /// As Analyzer has it, before the first frame.
    void expect_interfaces(std::size_t count);
    /// No more frames will come.
    void finish();
    /// Notes of a frame that was fed, one a flow (mostly none or one), as far as is known by now: later frames add
    /// answers. Valid until the next feed(), and while no more than `kept_notes` others have been asked for.
    std::vector<const FrameNote*> notes(std::uint64_t frame) const;
    static constexpr std::size_t kept_notes = 256;
    /// The figures, as Analyzer::snapshot() has them.
    Snapshot snapshot() const;
    /// A flow's identity at this moment, and its reverse's id: cheap, unlike snapshot(). Null if there is no such flow.
    const FlowSnapshot* flow(std::uint64_t id) const;
    std::size_t memory_octets() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace metrics::measure::notes
