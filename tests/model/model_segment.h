#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "metrics/figures/operation.h"
#include "tests/support/captures.h"
#include "wire/rdmap.h"

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
    bool fin = false;
    bool rst = false;
    bool cwr = false;
    bool damaged = false;  ///< TCP's checksum is wrong
    std::uint16_t identification = 0;
    std::optional<std::uint8_t> window_scale;                       ///< of a SYN. RFC 7323, 2.2
    std::optional<std::uint32_t> timestamp;                         ///< TSval. RFC 7323, appendix A
    std::optional<std::pair<std::uint32_t, std::uint32_t>> sacked;  ///< one block. RFC 2018
};

/// One FPDU as RFC 5040 and 7306 have it: tagged or not, and on which queue, the opcode says.
struct Fpdu {
    wire::RdmapOpcode opcode = wire::RdmapOpcode::write;
    std::uint32_t msn = 1;             ///< untagged: from 1
    std::uint64_t offset = 0;          ///< tagged: of the message
    std::uint32_t message_offset = 0;  ///< of the FPDU within it
    bool last = true;
    std::uint32_t stag = 0x1234;     ///< tagged
    std::vector<std::byte> content;  ///< what follows DDP's header
};

/// An MPA request or reply, revision 1, with CRCs. RFC 5044, 7.1.1.
std::vector<std::byte> mpa_start(bool reply);

/// A Write or Send of one FPDU, `msn` from 1 for Sends. Pads and CRC are there. RFC 5040, 5041, 5044.
std::vector<std::byte> fpdu(metrics::Operation operation, std::uint32_t bytes, std::uint32_t msn, std::uint64_t offset,
                            std::uint32_t message_offset, bool last);

/// Pads and CRC are there.
std::vector<std::byte> fpdu(const Fpdu& wanted);

/// The frame, checksums right unless `damaged`. A SYN carries the MSS 1460.
support::KeptFrame emit(const Segment& segment, std::int64_t time_ns);

/// Octets that a segment of `octets` occupies on Ethernet, preamble, FCS and gap with them.
std::uint32_t segment_link_octets(std::size_t octets);

}  // namespace model
