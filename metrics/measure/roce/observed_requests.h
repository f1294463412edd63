#pragma once
#include "metrics/measure/flow/flow.h"
#include "metrics/measure/flow/observed_flows.h"
#include "metrics/measure/roce/packet_progress.h"

/// What an observer learns of requests beyond what figures need: which frames a message took.
namespace metrics::inline measure::inline roce {

/// A packet that may begin to repair a loss. `repair` says what is known of times, and of its hole.
void observe_repair(ObservedFlows& observed, const Flow& flow, const Recovery& recovery, std::uint64_t frame,
                    RepeatCause cause, Repair& repair);
/// A packet at the next position, before it moves its flow forward.
void observe_request(ObservedFlows& observed, const Flow& flow, FlowIndex index, const Progress& packet,
                     std::uint64_t frame);
/// The last packet of the message under way is missing, and lies at `position` or before.
void observe_end_unseen(ObservedFlows& observed, const Flow& flow, FlowIndex index, std::uint64_t position);
/// A packet at a position that a later packet has passed: for the first time in the capture, or again.
void observe_past(ObservedFlows& observed, const Flow& flow, FlowIndex index, const PacketRecord& record,
                  const Progress& packet, bool first_sight);

}  // namespace metrics::measure::roce
