#pragma once
#include <cstdint>

#include "base/bytes.h"
#include "dissect/dissection.h"
#include "wire/mpa.h"
#include "wire/rdmap.h"

namespace metrics::inline measure::iwarp {

/// The head of an FPDU, as far as it distinguishes segments of one message from those of another.
struct FpduHead {
    std::uint32_t size = 0;  ///< bytes of the stream, without markers
    std::uint8_t opcode = 0;
    bool last = false;
};

/// The head at the first of these bytes, where they can be one. RFC 5044, 4.1; RFC 5041, 4.1; RFC 5040, 4.1.
inline bool read_head(base::Bytes bytes, FpduHead& head) {
    constexpr std::uint32_t least_ulpdu = 14;  // the tagged header
    if (bytes.size() < 4) return false;
    const std::uint32_t ulpdu = base::load_be16(bytes.data());
    const std::uint8_t ddp = base::load_u8(bytes.data() + 2);
    const std::uint8_t rdmap = base::load_u8(bytes.data() + 3);
    head = {wire::mpa_fpdu_size(ulpdu), static_cast<std::uint8_t>(rdmap & 15), (ddp & 0x40) != 0};
    const bool tagged = (ddp & 0x80) != 0;
    return ulpdu >= least_ulpdu && (ddp & 0x3f) == 1 && (rdmap & 0xb0) == 0 && wire::rdmap_known(head.opcode) &&
           wire::rdmap_tagged(head.opcode) == tagged;
}

/// Follows FPDU boundaries through the segments of a direction as they pass, before the stream's bytes are put in
/// order: the content of a segment must be known when it passes, not when a hole before it has been filled.
class FpduWalk {
public:
    /// Whether the bytes from `position` to `end` are exactly one FPDU, and which one. Changes nothing.
    [[gnu::always_inline]] bool is_next(std::uint64_t position, std::uint64_t end, base::Bytes bytes,
                                        FpduHead& head) const {
        return known_ && position == end_ && !markers_ && read_head(bytes, head) && head.size == end - position;
    }
    /// Moves to `end`, past an FPDU for which is_next() was true.
    void pass(std::uint64_t end, const FpduHead& head) {
        end_ = end;
        opcode_ = head.opcode;
        last_ = head.last;
    }
    /// New bytes from `position` to `end`; `bytes` are those of them that were captured. Returns the opcode of the
    /// first FPDU that they hold some of, or the last one known.
    std::uint8_t advance(std::uint64_t position, std::uint64_t end, base::Bytes bytes) {
        FpduHead head;
        if (!is_next(position, end, bytes, head)) return advance_any(position, end, bytes);
        pass(end, head);
        return opcode_;
    }
    /// An FPDU delivered by the dissector ends at `end`.
    void unit(std::uint64_t end, const dissect::DdpSummary& ddp, bool markers) {
        markers_ = markers_ || markers;
        if (known_ && end < end_) return;
        end_ = end;
        opcode_ = ddp.opcode;
        last_ = ddp.last;
        known_ = true;
    }
    void lose() { known_ = false; }
    /// Bytes from `position` on pass after all, although they had been counted as lost.
    void find_again(std::uint64_t position) { known_ = known_ || end_ >= position; }
    void move_back(std::uint64_t by) { end_ = end_ > by ? end_ - by : 0; }

    /// Bytes from `position` on go on with a message that was begun before.
    bool inside_message(std::uint64_t position) const { return known_ && (position < end_ || !last_); }
    std::uint8_t opcode() const { return opcode_; }

private:
    std::uint8_t advance_any(std::uint64_t position, std::uint64_t end, base::Bytes bytes);

    std::uint64_t end_ = 0;  ///< of the latest FPDU that began
    std::uint8_t opcode_ = 3;
    bool last_ = true;
    bool known_ = false;
    bool markers_ = false;  ///< heads do not lie where lengths say
};

}  // namespace metrics::measure::iwarp
