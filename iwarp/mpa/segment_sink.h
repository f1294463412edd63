#pragma once
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "iwarp/fault.h"

namespace iwarp::mpa {

/// The place for the payload of one DDP segment: pieces of memory in order, together as long as the payload. Valid
/// until the end of the segment or of the stream.
struct Target {
    std::span<const base::MutableBytes> pieces;
};

/// Receives the ULPDUs of a stream, one after the other: DDP, as MPA sees it.
class SegmentSink {
public:
    virtual ~SegmentSink() = default;
    /// `header` is the DDP header (14 bytes tagged, 18 untagged; the first bit distinguishes them), `payload_length`
    /// bytes follow it. Every rule that header and length can break is checked here.
    virtual base::Result<Target, Fault> begin_segment(base::Bytes header, std::uint32_t payload_length) = 0;
    /// All of the payload lies in the target and the CRC, if any, was right.
    virtual std::optional<Fault> end_segment() = 0;
};

}  // namespace iwarp::mpa
