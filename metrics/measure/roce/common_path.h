#pragma once
#include "metrics/measure/roce/awaited_responses.h"
#include "metrics/measure/roce/roce_messages.h"
#include "metrics/measure/roce/tracking.h"
#include "wire/frame.h"

namespace metrics::inline measure::inline roce {

/// The fast path for the most frequent packets. It does what RoceTracker::on_packet() would do, without searches that
/// would find nothing.
class CommonPath {
public:
    CommonPath(Tracking& tracking, const AwaitedResponses& awaited)
        : tracking_(tracking), store_(tracking.store), messages_(tracking), awaited_(awaited) {}

    /// As RoceTracker::on_plain().
    bool on_plain(const wire::Frame& frame, const FrameContext& context, FlowIndex flow);

private:
    struct Packet;
    bool on_request(Flow& flow, const Packet& packet);
    bool on_acknowledgement(Flow& flow, const Packet& packet);
    bool awaits_damaged(const Flow& flow) const;

    Tracking& tracking_;
    FlowStore& store_;
    RoceMessages messages_;
    const AwaitedResponses& awaited_;
};

}  // namespace metrics::measure::roce
