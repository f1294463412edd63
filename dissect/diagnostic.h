#pragma once
#include <cstdint>
#include <string_view>

#include "dissect/layer_id.h"

namespace dissect {

/// Four different results for a packet that is not simply complete.
enum class Outcome : std::uint8_t {
    complete,
    truncated,    ///< the capture is shorter than the packet was: a snap length, or a segment that was never seen
    malformed,    ///< the bytes contradict themselves or the specification: no further layer can be trusted
    odd,          ///< understood, but against the specification: dissection continues
    unsupported,  ///< legal as far as known, but rdmascope cannot read it: another version, a vendor's format
};

/// The reasons. Each has its sentence in `text()`.
enum class Reason : std::uint8_t {
    none,
    snapped,              ///< truncated: the snap length cut the header
    too_short,            ///< malformed: the enclosing layer ends inside this one
    bad_header_length,    ///< malformed: a length field below the header's own size
    bad_total_length,     ///< malformed: a length field below its header's size or beyond the enclosing layer
    bad_version,          ///< unsupported: a version this program does not know
    unknown_link_type,    ///< unsupported
    unknown_opcode,       ///< unsupported: an opcode outside IBTA vol. 1 and RFC 5040/7306
    unknown_next_header,  ///< unsupported
    bad_opcode,           ///< malformed
    too_many_layers,      ///< malformed: more nested layers than any real packet has
    fragment_pending,     ///< truncated: a fragment whose datagram is not complete yet
    fragment_overlap,     ///< malformed: fragments that overlap
    missing_icrc,         ///< malformed: no room for the invariant CRC
    bad_pad_count,        ///< malformed: more bytes of padding than payload
    reserved_not_zero,    ///< odd
    byte_swapped,         ///< odd: bit fields in the sender's byte order (siw's Terminate)
    marker_mismatch,      ///< malformed: an MPA marker that does not point at an FPDU
    stream_gap,           ///< truncated: TCP bytes that were never captured
    bad_start_frame,      ///< malformed: an MPA start frame with a wrong length
    length_exceeds_rfc,   ///< odd: an FPDU longer than RFC 5044 allows
    wrong_length,         ///< odd: a length other than the specification asks for
    wrong_queue,          ///< odd: an operation on another DDP queue than its own
};

std::string_view name_of(Outcome outcome);
std::string_view text(Reason reason);

/// What stopped a dissection, or is odd about it, and where. `offset` counts from the first byte that the dissection
/// describes; `needed` and `available` count bytes from there on.
struct Diagnostic {
    Outcome outcome = Outcome::complete;
    Reason reason = Reason::none;
    LayerId layer = LayerId::none;
    std::uint32_t offset = 0;
    std::uint32_t needed = 0;
    std::uint32_t available = 0;
};

/// Data or a CRC after headers that were all read.
constexpr bool is_after_headers(LayerId id) {
    return id == LayerId::payload || id == LayerId::ulp_payload || id == LayerId::icrc || id == LayerId::vcrc ||
           id == LayerId::mpa_fpdu;
}
/// A snap length or a mirror has cut the packet within its headers.
constexpr bool cuts_headers(const Diagnostic& stop) {
    return stop.reason == Reason::snapped && !is_after_headers(stop.layer);
}

}  // namespace dissect
