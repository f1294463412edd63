#include "metrics/measure/iwarp/segment_tracker.h"

#include <algorithm>

namespace metrics::inline measure::iwarp {

SegmentTracker::SegmentTracker(FlowStore& store)
    : store_(store),
      holes_(static_cast<std::uint32_t>(std::clamp<std::size_t>(store.options.max_flows / 16, 256, 1u << 24))),
      receiver_(store, holes_),
      sender_(store, holes_, receiver_) {}

void SegmentTracker::forget(Direction& direction) {
    holes_.drop(direction.sent);
    direction.responses.clear(store_.rings, direction.level.changed_ns);
}

}  // namespace metrics::measure::iwarp
