#pragma once
#include "metrics/measure/roce/answered_requests.h"
#include "metrics/measure/roce/awaited_responses.h"
#include "metrics/measure/roce/lost_responses.h"
#include "metrics/measure/roce/read_extents.h"
#include "metrics/measure/roce/roce_packet.h"
#include "metrics/measure/roce/tracking.h"

namespace metrics::inline measure::inline roce {

/// Responses to READs and atomics: in their order, late, doubled and sent again.
class RoceResponses {
public:
    RoceResponses(Tracking& tracking, ReadExtents& extents, AnsweredRequests& requests, const AwaitedResponses& awaited,
                  LostResponses& lost)
        : tracking_(tracking),
          store_(tracking.store),
          extents_(extents),
          requests_(requests),
          awaited_(awaited),
          lost_(lost) {}

    void on_response(const RocePacket& packet);

private:
    bool on_past_response(Flow* requester, Flow& carrier, const RocePacket& packet, std::uint64_t here);
    void on_late_response(Flow& requester, Flow& carrier, const RocePacket& packet, std::uint64_t here);
    void note_repeat(Flow& carrier, ResponseState& responses, const PacketRecord& record, std::uint64_t here,
                     Situation& situation);
    void note_request(Flow& requester, Flow& carrier, const RocePacket& packet, bool continues);
    void note_beginning(Flow& requester, std::uint64_t position, const PacketRecord& record);
    void measure_read(Flow& requester, ResponseState& responses, const RocePacket& packet);
    void answer(Flow& requester, Flow& carrier, const RocePacket& packet);

    Tracking& tracking_;
    FlowStore& store_;
    ReadExtents& extents_;
    AnsweredRequests& requests_;
    const AwaitedResponses& awaited_;
    LostResponses& lost_;
};

}  // namespace metrics::measure::roce
