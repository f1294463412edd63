#pragma once
#include <vector>

#include "base/compact.h"
#include "metrics/figures/snapshot.h"

/// Joins two parts of one flow. The functions for some members also add up different flows.
namespace metrics::inline figures {

void merge_flow(FlowSnapshot& into, const FlowSnapshot& other);

/// Adds fields::flow_counters, flow_optional_counters and flow_histograms, NAKs and operations.
void merge_counters(FlowSnapshot& into, const FlowSnapshot& other);
/// Call it before the counters are added: it needs the number of CNPs of each side.
void merge_rate_drop(FlowSnapshot& into, const FlowSnapshot& other);
void merge_recovery(RecoveryFigures& into, const RecoveryFigures& other);
void merge_tcp(base::CompactOptional<TcpFigures>& into, const base::CompactOptional<TcpFigures>& other);
/// Both ascending by kind.
void merge_event_summaries(std::vector<EventSummary>& into, const std::vector<EventSummary>& other);

}  // namespace metrics::figures
