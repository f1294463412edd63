#pragma once
#include <vector>

#include "metrics/snapshot.h"

namespace metrics {

/// Many snapshots that follow each other in time, merged: one at a time while the flows are the same, neighbours of
/// like size first where flows come and go, so that those that went are not gone through again with every snapshot.
class SnapshotSum {
public:
    void add(Snapshot&& snapshot);
    /// All that was added since the last take().
    Snapshot take();

private:
    std::vector<Snapshot> parts_;  ///< in the order of time, each of more than twice the flows of the next
};

}  // namespace metrics
