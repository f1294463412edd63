#include "metrics/figures/snapshot_sum.h"

#include <algorithm>
#include <utility>

namespace metrics::inline figures {
namespace {
/// Those of the latest traffic stay.
void forget(Snapshot& snapshot, std::size_t most) {
    if (snapshot.flows.size() <= most) return;
    // Removes a few more than necessary, so that not every snapshot causes a new sort.
    const std::size_t gone = snapshot.flows.size() - most + most / 8;
    std::vector<std::int64_t> ends;
    ends.reserve(snapshot.flows.size());
    for (const FlowSnapshot& flow : snapshot.flows) ends.push_back(flow.last_ns);
    std::nth_element(ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(gone - 1), ends.end());
    const std::int64_t limit = ends[gone - 1];
    std::size_t left = gone;
    std::erase_if(snapshot.flows, [&left, limit](const FlowSnapshot& flow) {
        if (left == 0 || flow.last_ns > limit) return false;
        --left;
        return true;
    });
    snapshot.capture.flows_evicted += gone;
}
}  // namespace

void SnapshotSum::join_last() {
    Snapshot later = std::move(parts_.back());
    parts_.pop_back();
    Snapshot& into = parts_.back();
    // What engines hold is no sum over time.
    const std::uint64_t memory = std::max(into.memory_octets, later.memory_octets);
    merge(into, std::move(later));
    into.memory_octets = memory;
    forget(into, max_flows_);
}

void SnapshotSum::add(Snapshot&& snapshot) {
    parts_.push_back(std::move(snapshot));
    forget(parts_.back(), max_flows_);
    while (parts_.size() > 1 && parts_[parts_.size() - 2].flows.size() / 2 <= parts_.back().flows.size()) join_last();
}

Snapshot SnapshotSum::take() {
    while (parts_.size() > 1) join_last();
    Snapshot sum = parts_.empty() ? Snapshot{} : std::move(parts_.front());
    parts_.clear();
    return sum;
}

}  // namespace metrics::figures
