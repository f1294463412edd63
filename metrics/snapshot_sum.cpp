#include "metrics/snapshot_sum.h"

#include <algorithm>
#include <utility>

namespace metrics {
namespace {
/// What engines hold is no sum over time.
void join(Snapshot& into, Snapshot&& later) {
    const std::uint64_t memory = std::max(into.memory_octets, later.memory_octets);
    merge(into, std::move(later));
    into.memory_octets = memory;
}
}  // namespace

void SnapshotSum::add(Snapshot&& snapshot) {
    parts_.push_back({std::move(snapshot), 0});
    while (parts_.size() > 1 && parts_[parts_.size() - 2].order == parts_.back().order) {
        Part later = std::move(parts_.back());
        parts_.pop_back();
        join(parts_.back().snapshot, std::move(later.snapshot));
        ++parts_.back().order;
    }
}

Snapshot SnapshotSum::take() {
    while (parts_.size() > 1) {
        Part later = std::move(parts_.back());
        parts_.pop_back();
        join(parts_.back().snapshot, std::move(later.snapshot));
    }
    Snapshot sum = parts_.empty() ? Snapshot{} : std::move(parts_.front().snapshot);
    parts_.clear();
    return sum;
}

}  // namespace metrics
