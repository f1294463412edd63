#pragma once
#include "metrics/measure/roce/lost_responses.h"
#include "metrics/measure/roce/read_extents.h"
#include "metrics/measure/roce/request_holes.h"
#include "metrics/measure/roce/roce_messages.h"
#include "metrics/measure/roce/roce_packet.h"
#include "metrics/measure/roce/roce_repairs.h"
#include "metrics/measure/roce/tracking.h"

namespace metrics::inline measure::inline roce {

/// Requests of RC and XRC, which are acknowledged and repeated: their sequence, holes in it, and the messages that they
/// are part of.
class RoceRequests {
public:
    RoceRequests(Tracking& tracking, RoceMessages& messages, ReadExtents& extents, RequestHoles& holes,
                 RoceRepairs& repairs, LostResponses& lost)
        : tracking_(tracking),
          store_(tracking.store),
          messages_(messages),
          extents_(extents),
          holes_(holes),
          repairs_(repairs),
          lost_(lost) {}

    void on_request(const RocePacket& packet);

private:
    void on_next(Flow& flow, const RequestPacket& packet, Situation& situation);
    void on_ahead(Flow& flow, const RequestPacket& packet, std::uint32_t hole, Situation& situation);
    void add(Flow& flow, const RequestPacket& packet, const Progress& progress);

    Tracking& tracking_;
    FlowStore& store_;
    RoceMessages& messages_;
    ReadExtents& extents_;
    RequestHoles& holes_;
    RoceRepairs& repairs_;
    LostResponses& lost_;
};

}  // namespace metrics::measure::roce
