#include "metrics/snapshot_sum.h"

#include <algorithm>
#include <utility>

namespace metrics {
namespace {
/// What engines hold is no sum over time.
void join_last(std::vector<Snapshot>& parts) {
    Snapshot later = std::move(parts.back());
    parts.pop_back();
    Snapshot& into = parts.back();
    const std::uint64_t memory = std::max(into.memory_octets, later.memory_octets);
    merge(into, std::move(later));
    into.memory_octets = memory;
}
}  // namespace

void SnapshotSum::add(Snapshot&& snapshot) {
    parts_.push_back(std::move(snapshot));
    while (parts_.size() > 1 && parts_[parts_.size() - 2].flows.size() / 2 <= parts_.back().flows.size())
        join_last(parts_);
}

Snapshot SnapshotSum::take() {
    while (parts_.size() > 1) join_last(parts_);
    Snapshot sum = parts_.empty() ? Snapshot{} : std::move(parts_.front());
    parts_.clear();
    return sum;
}

}  // namespace metrics
