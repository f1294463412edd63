#pragma once
#include <cstdint>
#include <vector>

#include "metrics/operation.h"
#include "tests/support/captures.h"

/// iWARP's octets: TCP segments, MPA start frames and FPDUs. IPv4 only.
namespace model {

struct Segment {
    std::uint32_t source_host = 0;
    std::uint32_t destination_host = 0;
    std::uint16_t source_port = 0;
    std::uint16_t destination_port = 0;
    std::uint32_t sequence = 0;
    std::uint32_t acknowledgment = 0;
    std::uint16_t window = 0xffff;  ///< not scaled
    bool syn = false;
    bool ack = true;
    bool ece = false;
    std::uint8_t ecn = 0;
    std::vector<std::byte> octets;
};

/// An MPA request or reply, revision 1, with CRCs. RFC 5044, 7.1.1.
std::vector<std::byte> mpa_start(bool reply);

/// A Write or Send of one FPDU, `msn` from 1 for Sends. Pads and CRC are there. RFC 5040, 5041, 5044.
std::vector<std::byte> fpdu(metrics::Operation operation, std::uint32_t bytes, std::uint32_t msn, std::uint64_t offset,
                            std::uint32_t message_offset, bool last);

/// The frame, checksums right. A SYN carries the MSS 1460.
support::KeptFrame emit(const Segment& segment, std::int64_t time_ns);

/// Octets that a segment of `octets` occupies on Ethernet, preamble, FCS and gap with them.
std::uint32_t segment_link_octets(std::size_t octets);

}  // namespace model
