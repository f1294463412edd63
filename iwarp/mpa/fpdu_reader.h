#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "iwarp/mpa/segment_sink.h"
#include "wire/bytes.h"

namespace iwarp::mpa {

/// Octets of a TCP stream → ULPDUs: FPDU lengths, markers out, padding, CRC. RFC 5044 sections 4 to 6. Indifferent to
/// how the stream is cut; after the first fault it takes and delivers nothing more (section 8).
///
/// Strict: an FPDU is kept until its CRC is right, then begin_segment, the copy and end_segment follow at once. Not
/// strict: begin_segment as soon as the header is there, payload straight into its target, the CRC at the end decides
/// about end_segment. Without CRCs both do the latter. An idle reader (between FPDUs) holds no buffer.
class FpduReader {
public:
    struct Settings {
        bool crc = true;
        bool markers = false;
        bool strict = true;
    };
    FpduReader(Settings settings, SegmentSink& sink);

    /// Takes all of `octets`, unless a fault ends the stream.
    std::optional<Fault> receive(wire::Bytes octets);

    /// Where the transport may put the stream's next octets itself, in the middle of a payload of which at least
    /// `minimum` octets are missing: pieces of the target, then a few octets of the reader's own for CRC and the next
    /// header. Empty where that is not possible (strict, markers, between FPDUs, less missing). Valid until the next call.
    std::span<const wire::MutableBytes> room(std::size_t minimum);
    /// `octets` of that room have been filled.
    std::optional<Fault> received(std::size_t octets);

    /// Whether the stream could end here: between FPDUs.
    bool at_boundary() const;
    std::uint64_t fpdus() const;

private:
    // The author of fpdu_reader.cpp completes what is private.
    Settings settings_;
    SegmentSink* sink_;
};

}  // namespace iwarp::mpa
