#pragma once
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "iwarp/fault.h"

namespace iwarp::mpa {

/// Where the payload of one DDP segment goes: pieces of memory in order, together as long as the payload. Valid until
/// the segment's end or the stream's.
struct Target {
    std::span<const base::MutableBytes> pieces;
};

/// Takes the ULPDUs of a stream, one after the other: DDP, as MPA sees it.
class SegmentSink {
public:
    virtual ~SegmentSink() = default;
    /// `header` is the DDP header (14 bytes tagged, 18 untagged; the first bit tells), `payload_length` bytes follow
    /// it. Every rule that header and length can break is checked here.
    virtual base::Result<Target, Fault> begin_segment(base::Bytes header, std::uint32_t payload_length) = 0;
    /// All of the payload lies in the target and the CRC, if any, was right.
    virtual std::optional<Fault> end_segment() = 0;
};

}  // namespace iwarp::mpa
