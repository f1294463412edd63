#pragma once
#include <cstdint>
#include <optional>

#include "metrics/measure/flow/flow.h"

namespace metrics::inline measure::inline roce {

/// The positions of `hole` did not pass when later ones did. If there is no room, the oldest stretch is given up.
void note_missing(MissingRanges& missing, const MissingRanges::Range& hole);
/// The positions of `hole`, after all that had passed, were acknowledged first. If such a stretch ends where `hole`
/// begins, that stretch grows.
void note_answered(MissingRanges& missing, const MissingRanges::Range& hole);
/// Whether the position was missing; it no longer is. `out` is the stretch that it lay in.
bool take_missing(MissingRanges& missing, std::uint64_t position, MissingRanges::Range& out);
/// The receiver asks for the position: it has not received it.
void refuse_missing(MissingRanges& missing, std::uint64_t position);
/// The position is sent again: stretches that were given up may be of the same loss.
void repeat_missing(MissingRanges& missing, std::uint64_t position);

/// The receiver has all before `end`. Calls `received(begin, end, refused)` for each counted stretch of it that has not
/// been acknowledged before, and `given_up(count)` for those that are not remembered. Returns whether anything remains
/// that is not acknowledged.
template <class Received, class GivenUp>
bool acknowledge_missing(MissingRanges& missing, std::uint64_t end, Received&& received, GivenUp&& given_up) {
    bool remains = false;
    for (MissingRanges::Range& range : missing.ranges) {
        if (range.begin == range.end || range.acknowledged) continue;
        if (range.begin < end) {
            const std::uint64_t until = range.end < end ? range.end : end;
            if (range.counted) received(range.begin, until, range.refused);
            // A stretch that is acknowledged in part keeps its rest.
            if (until == range.end)
                range.acknowledged = true;
            else
                range.begin = until;
        }
        remains = remains || !range.acknowledged;
    }
    if (missing.given_up != 0 && missing.given_up_end <= end) {
        given_up(missing.given_up);
        missing.given_up = 0;
    }
    return remains || missing.given_up != 0;
}

/// The receiver went on without asking again for what it had noticed before `noticed_ns`: it has received that. Returns
/// the number of these positions. `remains`: whether others were noticed later.
std::uint32_t received_missing(MissingRanges& missing, std::int64_t noticed_ns, bool& remains);
/// The receiver asks again for everything that is missing.
void refuse_all_missing(MissingRanges& missing);
/// The receiver asks again for all missing responses, perhaps not for the first time. They will come, or count as
/// missing again.
void ask_for_missing(MissingRanges& missing);
/// The response at `position` has come again. Returns the first requested position before it that has not come.
std::optional<std::uint64_t> missing_again(MissingRanges& missing, std::uint64_t position);
/// The positions [begin, end) turn out to be no packets of their own. Returns how many of them were counted and not
/// acknowledged.
std::uint32_t forget_missing(MissingRanges& missing, std::uint64_t begin, std::uint64_t end);

}  // namespace metrics::measure::roce
