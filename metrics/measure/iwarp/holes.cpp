#include "metrics/measure/iwarp/holes.h"

#include <algorithm>
#include <utility>

namespace metrics::inline measure::iwarp {

bool Holes::note(const Hole& hole) {
    Hole* place = &holes_[0];
    for (Hole& candidate : holes_) {
        if (candidate.begin == candidate.end) {
            candidate = hole;
            return true;
        }
        const bool older = candidate.noticed_ns < place->noticed_ns;
        if (candidate.open() != place->open() ? !candidate.open() : older) place = &candidate;
    }
    const bool spare = !place->open();
    if (!spare && hole.acknowledged) return false;
    *place = hole;
    return spare;
}

const Hole* Holes::find(std::uint64_t begin, std::uint64_t end, bool repaired) const {
    for (const Hole& hole : holes_)
        if (hole.begin < hole.end && !hole.acknowledged && hole.repaired == repaired && begin < hole.end &&
            end > hole.begin)
            return &hole;
    return nullptr;
}

Hole* Holes::find(std::uint64_t begin, std::uint64_t end, bool repaired) {
    const Hole* const found = std::as_const(*this).find(begin, end, repaired);
    return found == nullptr ? nullptr : &holes_[static_cast<std::size_t>(found - holes_.data())];
}

Hole* Holes::find_acknowledged(std::uint64_t begin, std::uint64_t end) {
    for (Hole& hole : holes_)
        if (hole.begin < hole.end && hole.acknowledged && begin < hole.end && end > hole.begin) return &hole;
    return nullptr;
}

bool Holes::expect_acknowledged(std::int64_t now_ns, std::uint64_t within_ns) const {
    return std::any_of(holes_.begin(), holes_.end(), [&](const Hole& hole) {
        if (hole.begin >= hole.end || !hole.acknowledged) return false;
        return now_ns <= hole.noticed_ns ||
               static_cast<std::uint64_t>(now_ns) - static_cast<std::uint64_t>(hole.noticed_ns) < within_ns;
    });
}

std::uint32_t Holes::share(const Hole& hole, std::uint64_t bytes) {
    const std::uint64_t whole = hole.end - hole.begin;
    const std::uint64_t segment = (whole + hole.packets - 1) / std::max<std::uint64_t>(hole.packets, 1);
    return static_cast<std::uint32_t>((bytes + segment - 1) / std::max<std::uint64_t>(segment, 1));
}

Holes::Filled Holes::fill(Hole& hole, std::uint64_t begin, std::uint64_t end) {
    const Hole whole = hole;
    Hole before = whole;
    before.end = std::clamp(begin, whole.begin, whole.end);
    Hole after = whole;
    after.begin = std::clamp(end, whole.begin, whole.end);
    // What fills it was one of its segments, however long they were taken to be.
    const bool both = before.begin < before.end && after.begin < after.end;
    const std::uint32_t least = both ? 2 : 1;
    const std::uint32_t left = std::max(whole.packets, least + 1) - 1;
    before.packets = std::min(share(whole, before.end - before.begin), both ? left - 1 : left);
    after.packets = std::min(share(whole, after.end - after.begin), left - before.packets);
    if (before.begin < before.end) {
        hole = before;
        if (after.begin < after.end) note(after);
    } else {
        hole = after;
    }
    const std::int64_t packets = std::int64_t{whole.packets} - before.packets - after.packets;
    return {after.begin - before.end, packets};
}

bool Holes::empty() const {
    return std::none_of(holes_.begin(), holes_.end(), [](const Hole& hole) { return hole.open(); });
}

}  // namespace metrics::measure::iwarp
