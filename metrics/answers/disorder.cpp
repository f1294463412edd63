#include "metrics/answers/disorder.h"

#include "metrics/answers/flow_measures.h"
#include "metrics/answers/repair_cause.h"
#include "metrics/answers/repairs.h"
#include "metrics/answers/thresholds.h"

namespace metrics::inline answers {

bool has_disorder(const FlowSnapshot& flow) {
    const bool has_order = flow.service == Service::rc || flow.service == Service::xrc;
    return has_order && !flow.tcp && flow.reordered_packets.value_or(0) > 0;
}

bool is_harmless(const FlowSnapshot& flow, ReceiverClass receiver) {
    if (!has_disorder(flow) || flow.duplicate_packets.value_or(0) > 0) return false;
    const auto packets = static_cast<double>(flow.packets);
    if (ratio(static_cast<double>(flow.missing_packets.value_or(0)), packets) >= alarming_loss_share) return false;
    const std::uint64_t harm = repeated_packets(flow) + sequence_naks(flow);
    if (harm == 0) return true;
    if (receiver == ReceiverClass::unknown) return false;
    const double time = ratio(static_cast<double>(repair_ns(flow)), static_cast<double>(active_ns(flow)));
    return ratio(static_cast<double>(harm), packets) < alarming_loss_share && time < alarming_time_share;
}

}  // namespace metrics::answers
