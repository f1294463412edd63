#pragma once
#include <span>

#include "fleet/rows/state_rows.h"
#include "metrics/figures/snapshot.h"

namespace fleet::rows {

/// Events that frames of flows showed: of each kind how often, and the first frames.
const Table& events_table();
StateRows event_rows(const metrics::Snapshot& snapshot, std::span<const metrics::Address> own);

}  // namespace fleet::rows
