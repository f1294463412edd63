#include "metrics/stream/fpdu_walk.h"

#include "wire/mpa.h"
#include "wire/rdmap.h"

namespace metrics::stream {

bool read_head(wire::Bytes bytes, FpduHead& head) {
    constexpr std::uint32_t least_ulpdu = 14;  // the tagged header
    if (bytes.size() < 4) return false;
    const std::uint32_t ulpdu = wire::load_be16(bytes.data());
    const std::uint8_t ddp = wire::load_u8(bytes.data() + 2);
    const std::uint8_t rdmap = wire::load_u8(bytes.data() + 3);
    head = {wire::mpa_fpdu_size(ulpdu), static_cast<std::uint8_t>(rdmap & 15), (ddp & 0x40) != 0};
    const bool tagged = (ddp & 0x80) != 0;
    return ulpdu >= least_ulpdu && (ddp & 0x3f) == 1 && (rdmap & 0xb0) == 0 && wire::rdmap_known(head.opcode) &&
           wire::rdmap_tagged(head.opcode) == tagged;
}

std::uint8_t FpduWalk::advance(std::uint64_t position, std::uint64_t end, wire::Bytes bytes) {
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

void FpduWalk::unit(std::uint64_t end, const dissect::DdpSummary& ddp, bool markers) {
    markers_ = markers_ || markers;
    if (known_ && end < end_) return;
    end_ = end;
    opcode_ = ddp.opcode;
    last_ = ddp.last;
    known_ = true;
}

}  // namespace metrics::stream
