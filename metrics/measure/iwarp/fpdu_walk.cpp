#include "metrics/measure/iwarp/fpdu_walk.h"

namespace metrics::inline measure::iwarp {

std::uint8_t FpduWalk::advance_any(std::uint64_t position, std::uint64_t end, base::Bytes bytes) {
    if (markers_) {
        if (position > end_) known_ = false;
        return opcode_;
    }
    const bool goes_on = known_ && position < end_;
    std::uint8_t first = opcode_;
    bool met = goes_on;
    std::uint64_t at = known_ && position <= end_ ? end_ : position;
    known_ = known_ && position <= end_;
    while (at < end) {
        const std::uint64_t offset = at - position;
        FpduHead head;
        if (offset >= bytes.size() || !read_head(bytes.subspan(offset), head)) {
            known_ = false;
            break;
        }
        if (!met) first = head.opcode;
        met = true;
        known_ = true;
        at += head.size;
        end_ = at;
        opcode_ = head.opcode;
        last_ = head.last;
    }
    return first;
}

}  // namespace metrics::measure::iwarp
