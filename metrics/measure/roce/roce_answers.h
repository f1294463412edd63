#pragma once
#include "metrics/measure/roce/answered_requests.h"
#include "metrics/measure/roce/lost_responses.h"
#include "metrics/measure/roce/read_extents.h"
#include "metrics/measure/roce/repeated_requests.h"
#include "metrics/measure/roce/roce_packet.h"
#include "metrics/measure/roce/tracking.h"

namespace metrics::inline measure::inline roce {

/// What responders send except responses to READs and atomics: acknowledgements, NAKs, notifications.
class RoceAnswers {
public:
    RoceAnswers(Tracking& tracking, ReadExtents& extents, AnsweredRequests& requests, LostResponses& lost,
                RepeatedRequests& repeated)
        : store_(tracking.store), extents_(extents), requests_(requests), lost_(lost), repeated_(repeated) {}

    /// An acknowledgement, a NAK or an RNR NAK.
    void on_acknowledgement(const RocePacket& packet);
    /// A CNP asks the sender of the reverse flow to slow down. IBTA annex A17.
    void on_notification(const RocePacket& packet);

private:
    void on_refusal(Flow& carrier, Flow* requester, const PacketRecord& record);
    void count_refusal(Flow& carrier, Flow& shown, const PacketRecord& record);

    FlowStore& store_;
    ReadExtents& extents_;
    AnsweredRequests& requests_;
    LostResponses& lost_;
    RepeatedRequests& repeated_;
};

}  // namespace metrics::measure::roce
