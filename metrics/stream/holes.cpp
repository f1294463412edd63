#include "metrics/stream/holes.h"

#include <algorithm>

namespace metrics::stream {

int SendOrder::compare(const SendOrder& other) const {
    if (has_timestamp && other.has_timestamp && timestamp != other.timestamp)
        return static_cast<std::int32_t>(timestamp - other.timestamp) < 0 ? -1 : 1;
    if (has_identification && other.has_identification && identification != other.identification)
        return static_cast<std::int16_t>(static_cast<std::uint16_t>(identification - other.identification)) < 0 ? -1
                                                                                                                : 1;
    return 0;
}

bool Holes::note(const Hole& hole) {
    Hole* place = &holes_[0];
    for (Hole& candidate : holes_) {
        if (candidate.begin == candidate.end) {
            candidate = hole;
            return true;
        }
        const bool older = candidate.noticed_ns < place->noticed_ns;
        if (candidate.repaired != place->repaired ? candidate.repaired : older) place = &candidate;
    }
    const bool spare = place->repaired;
    *place = hole;
    return spare;
}

Hole* Holes::find(std::uint64_t begin, std::uint64_t end, bool repaired) {
    for (Hole& hole : holes_)
        if (hole.begin < hole.end && hole.repaired == repaired && begin < hole.end && end > hole.begin) return &hole;
    return nullptr;
}

std::uint64_t Holes::fill(Hole& hole, std::uint64_t begin, std::uint64_t end) {
    const Hole whole = hole;
    Hole before = whole;
    before.end = std::clamp(begin, whole.begin, whole.end);
    Hole after = whole;
    after.begin = std::clamp(end, whole.begin, whole.end);
    if (before.begin < before.end) {
        hole = before;
        if (after.begin < after.end) note(after);
    } else {
        hole = after;
    }
    return after.begin - before.end;
}

bool Holes::empty() const {
    return std::none_of(holes_.begin(), holes_.end(),
                        [](const Hole& hole) { return hole.begin < hole.end && !hole.repaired; });
}

}  // namespace metrics::stream
