#pragma once
#include <cstddef>
#include <cstdint>

#include "dissect/dissection.h"
#include "dissect/plain_segment.h"
#include "metrics/figures/address.h"
#include "metrics/measure/packet/opcode_traits.h"
#include "wire/bth_opcode.h"
#include "wire/carrier.h"
#include "wire/frame.h"
#include "wire/mad.h"
#include "wire/udp_port.h"

namespace metrics::inline measure::inline packet {

/// The few values of a BTH or a TCP header that hosts are counted by.
struct TransportSummary {
    enum class Kind : std::uint8_t { other, bth, tcp, mac_control };

    Kind kind = Kind::other;
    std::uint8_t opcode = 0;           ///< of the BTH
    std::uint8_t flags = 0;            ///< of TCP, FIN lowest
    bool plain = false;                ///< see read_plain
    std::uint32_t identification = 0;  ///< of IPv4; 0 if absent
    std::uint32_t offset = 0;          ///< of the BTH, TCP header or MAC control opcode
    std::uint32_t selector = 0;        ///< destination QPN, or both ports
    std::uint32_t position = 0;        ///< PSN, or sequence number
    std::uint32_t payload = 0;         ///< bytes on the wire
    std::uint32_t cut_octets = 0;      ///< dissect::Dissection::cut_octets
};

/// What a frame shows by itself, without any other frame; the innermost addresses as dissect::Dissection has them.
struct PacketSummary : TransportSummary {
    Address source;  ///< Family::none if the frame has no network layer
    Address destination;
    wire::Carrier unread;   ///< how the frame continues beyond what is read, if RDMA may be in it
    Address quoted_source;  ///< of the packet that an ICMP error quotes; Family::none if absent
    Address quoted_destination;
};

/// Where the BTH of a plain frame begins.
inline constexpr std::uint32_t plain_bth_offset = 14 + 20 + 8;
/// Where IPv4's addresses are in a plain frame, or a plain segment's.
using dissect::plain_addresses_offset;

/// Whether the DETH of a datagram whose headers are all there names a management queue pair as its sender: a dissector
/// takes what follows for a MAD then. IBTA vol. 1, 13.5.1.
inline bool comes_from_management(const OpcodeTraits& traits, const std::byte* bth) {
    const std::uint32_t rdeth = traits.service == Service::rd ? 4 : 0;
    return wire::is_management_qp(base::load_be24(bth + 12 + rdeth + 5));
}

/// Whether a frame is plain: Ethernet, IPv4 without options, UDP, and a BTH with all of its extended headers and its
/// ICRC. All lengths agree, all of it was captured, and it is no management datagram: a dissector would find nothing
/// more. Returns the traits of its opcode, and the size of the rest after the headers; nullptr if the frame is not of
/// that shape.
inline const OpcodeTraits* plain_opcode(const wire::Frame& frame, std::uint32_t& payload) {
    constexpr std::uint32_t ip = 14;
    constexpr std::uint32_t udp = ip + 20;
    constexpr std::uint32_t least_bth = 12;
    constexpr std::uint32_t icrc = 4;
    const std::byte* const p = frame.bytes.data();
    const std::size_t size = frame.bytes.size();
    if (size < plain_bth_offset + least_bth + icrc || size != frame.wire_length || size > 0xffff ||
        frame.link_type != wire::LinkType::ethernet)
        return nullptr;
    const std::uint32_t total = static_cast<std::uint32_t>(size) - ip;
    // Each comparison gives zero if it holds: one branch for all. EtherType, version and length, total length; no
    // fragment, protocol; port and length.
    const std::uint64_t front = base::load_be64(p + 12) ^ (std::uint64_t{0x08004500} << 32 | total << 16);
    const std::uint32_t middle = base::load_be32(p + ip + 6) ^ 17u;
    const std::uint32_t end = base::load_be32(p + udp + 2) ^ (std::uint32_t{wire::udp_port::roce} << 16 | (total - 20));
    if (((front & 0xffffff00ffff0000) | (middle & 0x3fff00ff) | end) != 0) return nullptr;
    const std::uint64_t bth = base::load_be64(p + plain_bth_offset);
    const OpcodeTraits& traits = opcode_traits[bth >> 56];
    const std::uint32_t pad = static_cast<std::uint32_t>(bth >> 52) & 3;
    const std::uint32_t headers = plain_bth_offset + icrc + traits.header_octets + pad;
    constexpr std::uint64_t version = std::uint64_t{15} << 48;
    constexpr std::uint64_t queue_pair = 0xfffffe;  // 0 and 1 are management's
    if (!traits.known || (bth & version) != 0 || (bth & queue_pair) == 0 || size < headers ||
        (size != headers && !traits.has_payload))
        return nullptr;
    if (traits.has_deth && comes_from_management(traits, frame.bytes.data() + plain_bth_offset)) [[unlikely]]
        return nullptr;
    payload = static_cast<std::uint32_t>(size) - headers;
    return &traits;
}

/// For a frame for which plain_opcode() has an opcode.
inline TransportSummary summarize_plain(const wire::Frame& frame, std::uint32_t payload) {
    const std::byte* const bth = frame.bytes.data() + plain_bth_offset;
    TransportSummary out;
    out.kind = TransportSummary::Kind::bth;
    out.opcode = base::load_u8(bth);
    out.plain = true;
    out.identification = base::load_be16(frame.bytes.data() + 18);
    out.offset = plain_bth_offset;
    out.selector = base::load_be32(bth + 4) & 0xffffff;
    out.position = base::load_be32(bth + 8) & 0xffffff;
    out.payload = payload;
    return out;
}

/// Of a frame that dissect::is_plain_segment(), with `payload` bytes of payload.
inline void read_plain_segment(const wire::Frame& frame, std::uint32_t payload, TransportSummary& out) {
    const std::byte* const ip = frame.bytes.data() + 14;
    const std::byte* const tcp = frame.bytes.data() + dissect::plain_tcp_offset;
    out.kind = PacketSummary::Kind::tcp;
    out.flags = base::load_u8(tcp + 13);
    out.identification = base::load_be16(ip + 4);
    out.offset = dissect::plain_tcp_offset;
    out.selector = base::load_be32(tcp);
    out.position = base::load_be32(tcp + 4);
    out.payload = payload;
}

/// The usual shapes are read in place; all others are dissected into `scratch`. The addresses of a fragment are those
/// of the fragmented datagram, so that all of its fragments say the same.
void summarize(const wire::Frame& frame, dissect::Dissection& scratch, PacketSummary& out);

}  // namespace metrics::measure::packet
