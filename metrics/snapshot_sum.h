#pragma once
#include <vector>

#include "metrics/snapshot.h"

namespace metrics {

/// Many snapshots that follow each other in time, merged. Neighbours of like size first, so that flows that came and
/// went are not gone through again with every snapshot that comes.
class SnapshotSum {
public:
    void add(Snapshot&& snapshot);
    /// All that was added since the last take().
    Snapshot take();

private:
    struct Part {
        Snapshot snapshot;
        unsigned order = 0;  ///< made of about 2^order
    };
    std::vector<Part> parts_;
};

}  // namespace metrics
