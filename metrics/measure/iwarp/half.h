#pragma once
#include "metrics/measure/flow/flow_store.h"
#include "metrics/measure/iwarp/direction.h"

namespace metrics::inline measure::iwarp {

/// One direction of a connection and its flow, valid during a call.
struct Half {
    FlowIndex index = no_flow;
    Flow* flow = nullptr;
    Direction* direction = nullptr;

    explicit operator bool() const { return direction != nullptr; }
    RequestState& request() const { return flow->request; }
    SentData& sent() const { return direction->sent; }
    ReceiverReports& received() const { return direction->received; }
    bool is_recovering() const { return direction->sent.recovery.is_under_way(flow->request.acknowledged); }
};

}  // namespace metrics::measure::iwarp
