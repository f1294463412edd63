#pragma once
#include "metrics/measure/roce/request_holes.h"
#include "metrics/measure/roce/roce_messages.h"
#include "metrics/measure/roce/roce_packet.h"
#include "metrics/measure/roce/tracking.h"

namespace metrics::inline measure::inline roce {

/// Requests that are not acknowledged: of UC and UD, and of RD, whose end-to-end contexts are not followed. What was
/// sent, and for UC what is missing.
class UnreliableRequests {
public:
    UnreliableRequests(Tracking& tracking, RoceMessages& messages, RequestHoles& holes)
        : tracking_(tracking), store_(tracking.store), messages_(messages), holes_(holes) {}

    void on_request(const RocePacket& packet);

private:
    void on_past_request(const RocePacket& packet, std::uint64_t position);
    void take_back_loss(const Flow& flow, const MissingRanges::Range& hole, std::uint64_t position);

    Tracking& tracking_;
    FlowStore& store_;
    RoceMessages& messages_;
    RequestHoles& holes_;
};

}  // namespace metrics::measure::roce
