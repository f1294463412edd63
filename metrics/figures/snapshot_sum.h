#pragma once
#include <vector>

#include "metrics/figures/snapshot.h"

namespace metrics::inline figures {

/// Merges snapshots that follow each other in time. While the flows stay the same, each snapshot is merged at once. If
/// flows come and go, parts of similar size are merged first, so that ended flows are not visited again for each
/// snapshot. Above `max_flows`, the flows that have been silent longest are forgotten and counted as evicted.
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
