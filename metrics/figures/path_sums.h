#pragma once
#include "metrics/figures/snapshot.h"

namespace metrics::inline figures {

/// What a flow shows of its paths, of two parts of it. Call it before the counters of the flows are added: a flow with
/// one entropy has its figures there.
void merge_path(FlowSnapshot& into, const FlowSnapshot& other);
/// The rest, if the figures of an earlier time are taken out. Call it before the counters are subtracted.
void subtract_path(FlowSnapshot& flow, const FlowSnapshot& earlier);

/// The packets of each entropy: those of `path`, or all of the flow's.
std::vector<EntropyFigures> entropies_of(const FlowSnapshot& flow);

}  // namespace metrics::figures
