#include "metrics/roce/missing.h"

namespace metrics {

void note_missing(MissingRanges& missing, std::uint64_t begin, std::uint64_t end, std::int64_t now_ns,
                  std::uint16_t identification) {
    MissingRanges::Range* place = &missing.ranges[0];
    for (MissingRanges::Range& range : missing.ranges) {
        if (range.begin == range.end) {
            place = &range;
            break;
        }
        if (range.noticed_ns < place->noticed_ns) place = &range;  // the oldest is given up
    }
    *place = {begin, end, now_ns, identification};
}

bool take_missing(MissingRanges& missing, std::uint64_t position, MissingRanges::Range& out) {
    for (MissingRanges::Range& range : missing.ranges) {
        if (position < range.begin || position >= range.end) continue;
        out = range;
        range.end = position;
        if (position + 1 < out.end) {
            if (range.begin == range.end)
                range = {position + 1, out.end, out.noticed_ns, out.identification};
            else
                note_missing(missing, position + 1, out.end, out.noticed_ns, out.identification);
        }
        return true;
    }
    return false;
}

}  // namespace metrics
