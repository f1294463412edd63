#pragma once
#include "metrics/measure/flow/flow_store.h"
#include "metrics/measure/hosts/reuse.h"
#include "metrics/measure/packet/packet_record.h"
#include "metrics/measure/roce/answered_requests.h"
#include "metrics/measure/roce/awaited_responses.h"
#include "metrics/measure/roce/common_path.h"
#include "metrics/measure/roce/lost_responses.h"
#include "metrics/measure/roce/read_extents.h"
#include "metrics/measure/roce/repeated_requests.h"
#include "metrics/measure/roce/request_holes.h"
#include "metrics/measure/roce/roce_answers.h"
#include "metrics/measure/roce/roce_messages.h"
#include "metrics/measure/roce/roce_repairs.h"
#include "metrics/measure/roce/roce_requests.h"
#include "metrics/measure/roce/roce_responses.h"
#include "metrics/measure/roce/tracking.h"
#include "metrics/measure/roce/unreliable_requests.h"

namespace metrics::inline measure::inline roce {

/// InfiniBand's transport: requests, responses, acknowledgements and notifications of a queue pair, turned into what
/// every flow has. IBTA vol. 1, chapter 9. The engine has found the flow of the record. on_packet() is the one way in;
/// on_plain() is a shortcut with the same result.
class RoceTracker {
public:
    RoceTracker(FlowStore& store, ReuseTracker* reuse) : tracking_(store, reuse) {}
    RoceTracker(const RoceTracker&) = delete;
    RoceTracker& operator=(const RoceTracker&) = delete;

    void on_packet(const PacketRecord& record);

    /// The way of the commonest packets: a request in sequence, or an acknowledgement of requests in sequence, of a
    /// flow that is known, paired and without trouble. False, with nothing done, for all others: on_packet() must be
    /// called then. `flow` is the flow that the packet is expected to be of, or `no_flow`. The frame is plain
    /// (FrameContext::plain_bth), its CRC not wrong.
    bool on_plain(const wire::Frame& frame, const FrameContext& context, FlowIndex flow) {
        return common_path_.on_plain(frame, context, flow);
    }

private:
    bool is_left_out(const RocePacket& packet);
    void on_damaged(const RocePacket& packet);

    // The order matters: each member uses the members before it.
    Tracking tracking_;
    RoceMessages messages_{tracking_};
    ReadExtents extents_{tracking_.store};
    RequestHoles holes_{tracking_.store, messages_};
    AnsweredRequests answered_{tracking_, messages_, extents_, holes_};
    AwaitedResponses awaited_{tracking_.store, extents_};
    LostResponses lost_{tracking_.store, answered_, awaited_};
    RepeatedRequests repeated_{tracking_.store};
    RoceRepairs repairs_{tracking_, messages_, extents_, holes_, repeated_};
    RoceRequests requests_{tracking_, messages_, extents_, holes_, repairs_, lost_};
    UnreliableRequests unreliable_{tracking_, messages_, holes_};
    RoceResponses responses_{tracking_, extents_, answered_, awaited_, lost_};
    RoceAnswers answers_{tracking_, extents_, answered_, lost_, repeated_};
    CommonPath common_path_{tracking_, awaited_};
};

}  // namespace metrics::measure::roce
