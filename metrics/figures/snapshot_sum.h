#pragma once
#include <vector>

#include "metrics/figures/snapshot.h"

namespace metrics::inline figures {

/// Many snapshots that follow each other in time, merged: one at a time while the flows are the same, neighbours of
/// like size first where flows come and go, so that those that went are not gone through again with every snapshot.
/// Of more than `max_flows`, those that ended or paused longest ago are forgotten, and counted as evicted.
class SnapshotSum {
public:
    explicit SnapshotSum(std::size_t max_flows = 1'000'000) : max_flows_(max_flows) {}
    void add(Snapshot&& snapshot);
    /// All that was added since the last take().
    Snapshot take();

private:
    void join_last();

    std::size_t max_flows_;
    std::vector<Snapshot> parts_;  ///< in the order of time, each of more than twice the flows of the next
};

}  // namespace metrics::figures
