#pragma once
#include "metrics/answers/receiver_class.h"
#include "metrics/figures/snapshot.h"

namespace metrics::inline answers {

/// Packets arrived out of order, whatever that did.
bool has_disorder(const FlowSnapshot& flow);
/// Packets arrived out of order, and that cost nothing, or next to nothing with a receiver whose class is known. RoCE
/// and InfiniBand, reliable services: TCP puts its segments in order, and datagrams have no order.
bool is_harmless(const FlowSnapshot& flow, ReceiverClass receiver);

}  // namespace metrics::answers
