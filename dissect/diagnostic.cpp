#include "dissect/diagnostic.h"

namespace dissect {

std::string_view name_of(Outcome outcome) {
    switch (outcome) {
        case Outcome::complete: return "complete";
        case Outcome::truncated: return "truncated";
        case Outcome::malformed: return "malformed";
        case Outcome::odd: return "odd";
        case Outcome::unsupported: return "unsupported";
    }
    return "";
}

std::string_view text(Reason reason) {
    switch (reason) {
        case Reason::none: return "";
        case Reason::snapped: return "the capture ends inside this layer (snap length)";
        case Reason::too_short: return "the enclosing layer ends inside this one";
        case Reason::bad_header_length: return "the header's length field is smaller than the header itself";
        case Reason::bad_total_length: return "a length field below its header's size or beyond the enclosing layer";
        case Reason::bad_version: return "a version that rdmascope does not know";
        case Reason::unknown_link_type: return "a link type that rdmascope does not know";
        case Reason::unknown_opcode: return "an opcode outside the specification";
        case Reason::unknown_next_header: return "a next header that rdmascope does not know";
        case Reason::bad_opcode: return "an opcode that cannot stand here";
        case Reason::too_many_layers: return "more nested layers than a real packet has";
        case Reason::fragment_pending: return "an IP fragment; the rest of the datagram has not been seen yet";
        case Reason::fragment_overlap: return "IP fragments that overlap";
        case Reason::missing_icrc: return "no room for the invariant CRC";
        case Reason::bad_pad_count: return "more pad bytes than payload";
        case Reason::reserved_not_zero: return "reserved bits are not zero";
        case Reason::byte_swapped: return "bit fields in the sender's byte order, as Linux siw writes them";
        case Reason::marker_mismatch: return "an MPA marker that does not point at an FPDU";
        case Reason::stream_gap: return "bytes of the TCP stream are missing from the capture";
        case Reason::bad_start_frame: return "an MPA start frame with a length that cannot be";
        case Reason::length_exceeds_rfc: return "an FPDU longer than RFC 5044 allows";
        case Reason::wrong_length: return "a length other than the specification asks for";
        case Reason::wrong_queue: return "an operation on a DDP queue that is not its own";
    }
    return "";
}

}  // namespace dissect
