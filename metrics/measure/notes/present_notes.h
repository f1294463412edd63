#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "dissect/dissector.h"
#include "metrics/figures/snapshot.h"
#include "metrics/measure/account/engine_options.h"
#include "metrics/measure/notes/frame_notes.h"
#include "wire/frame.h"

namespace metrics::inline measure::inline notes {

/// Takes frames, and makes notes on the last one, for a program that shows each frame at once. Unlike FrameNotes it
/// keeps nothing of earlier frames except messages that wait for their answer, at most 16384 for each flow, so that the
/// memory does not grow with the capture. Notes lack what later frames would show: Message::response_frame and
/// latency_ns of `messages`, and the time of a repair that only the frame of the lost packet would give.
class PresentNotes {
public:
    /// `listener` as FrameNotes has it.
    PresentNotes(const EngineOptions& engine, const dissect::DissectorOptions& dissector, dissect::Sink* listener);
    ~PresentNotes();

    void expect_interfaces(std::size_t count);
    void feed(const wire::Frame& frame);
    /// No more frames come. Notes are then on the last frame.
    void finish();
    /// One a flow that the frame says something about. Valid until the next feed().
    std::span<const FrameNote> notes() const;
    /// A flow's ends and its reverse's id as far as they are known; no figures. Null if there is no such flow. Valid
    /// until the next call.
    const FlowSnapshot* flow(std::uint64_t id) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace metrics::measure::notes
