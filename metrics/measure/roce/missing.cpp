#include "metrics/measure/roce/missing.h"

#include <algorithm>

namespace metrics::inline measure::inline roce {

namespace {

bool is_pending(const MissingRanges::Range& range) { return range.counted && !range.refused && !range.acknowledged; }

void give_up(MissingRanges& missing, const MissingRanges::Range& range) {
    if (!is_pending(range)) return;
    missing.given_up_begin = missing.given_up == 0 ? range.begin : std::min(missing.given_up_begin, range.begin);
    missing.given_up_end = missing.given_up == 0 ? range.end : std::max(missing.given_up_end, range.end);
    missing.given_up += static_cast<std::uint32_t>(range.end - range.begin);
}

}  // namespace

void note_missing(MissingRanges& missing, const MissingRanges::Range& hole) {
    MissingRanges::Range* place = &missing.ranges[0];
    for (MissingRanges::Range& range : missing.ranges) {
        if (range.begin == range.end) {
            place = &range;
            break;
        }
        // Acknowledged packets can hardly come any more; otherwise the oldest is given up.
        if (range.acknowledged != place->acknowledged ? range.acknowledged : range.noticed_ns < place->noticed_ns)
            place = &range;
    }
    if (place->begin != place->end) give_up(missing, *place);
    *place = hole;
}

void note_answered(MissingRanges& missing, const MissingRanges::Range& hole) {
    for (MissingRanges::Range& range : missing.ranges) {
        if (!range.answered || range.refused || range.begin == range.end || range.end != hole.begin) continue;
        range.end = hole.end;
        range.noticed_ns = hole.noticed_ns;
        return;
    }
    note_missing(missing, hole);
}

bool take_missing(MissingRanges& missing, std::uint64_t position, MissingRanges::Range& out) {
    for (MissingRanges::Range& range : missing.ranges) {
        if (position < range.begin || position >= range.end) continue;
        out = range;
        range.end = position;
        if (position + 1 < out.end) {
            MissingRanges::Range behind = out;
            behind.begin = position + 1;
            if (range.begin == range.end)
                range = behind;
            else
                note_missing(missing, behind);
        }
        return true;
    }
    return false;
}

void refuse_missing(MissingRanges& missing, std::uint64_t position) {
    for (MissingRanges::Range& range : missing.ranges)
        if (position >= range.begin && position < range.end) range.refused = true;
    if (position < missing.given_up_end) missing.given_up = 0;
}

void repeat_missing(MissingRanges& missing, std::uint64_t position) {
    if (position >= missing.given_up_begin && position < missing.given_up_end) missing.given_up = 0;
}

std::uint32_t received_missing(MissingRanges& missing, std::int64_t noticed_ns, bool& remains) {
    std::uint32_t received = 0;
    remains = false;
    for (MissingRanges::Range& range : missing.ranges) {
        if (range.begin == range.end || !is_pending(range)) continue;
        if (range.noticed_ns >= noticed_ns) {
            remains = true;
            continue;
        }
        received += static_cast<std::uint32_t>(range.end - range.begin);
        range.acknowledged = true;
    }
    if (received == 0) return 0;
    // What was given up had been noticed before.
    received += missing.given_up;
    missing.given_up = 0;
    return received;
}

void refuse_all_missing(MissingRanges& missing) {
    for (MissingRanges::Range& range : missing.ranges) range.refused = true;
    missing.given_up = 0;
}

void ask_for_missing(MissingRanges& missing) {
    for (MissingRanges::Range& range : missing.ranges) range.asked = !range.acknowledged;
}

std::optional<std::uint64_t> missing_again(MissingRanges& missing, std::uint64_t position) {
    MissingRanges::Range* first = nullptr;
    for (MissingRanges::Range& range : missing.ranges) {
        if (range.begin == range.end || !range.asked || range.begin >= position) continue;
        if (first == nullptr || range.begin < first->begin) first = &range;
    }
    if (first == nullptr) return std::nullopt;
    first->asked = false;
    return first->begin;
}

std::uint32_t forget_missing(MissingRanges& missing, std::uint64_t begin, std::uint64_t end) {
    std::uint32_t forgotten = 0;
    for (MissingRanges::Range& range : missing.ranges) {
        const std::uint64_t from = std::max(begin, range.begin);
        const std::uint64_t to = std::min(end, range.end);
        if (from >= to) continue;
        if (is_pending(range)) forgotten += static_cast<std::uint32_t>(to - from);
        if (from == range.begin) {
            range.begin = to;
        } else if (to == range.end) {
            range.end = from;
        } else {
            MissingRanges::Range behind = range;
            behind.begin = to;
            range.end = from;
            note_missing(missing, behind);
        }
    }
    return forgotten;
}

}  // namespace metrics::measure::roce
