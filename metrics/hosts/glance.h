#pragma once
#include <cstddef>
#include <cstdint>

#include "dissect/dissection.h"
#include "dissect/plain_segment.h"
#include "metrics/address.h"
#include "wire/bth_opcode.h"
#include "wire/frame.h"
#include "wire/udp_port.h"

namespace metrics {

/// The few values of a BTH or a TCP header that hosts are counted by.
struct TransportGlance {
    enum class Kind : std::uint8_t { other, bth, tcp, mac_control };

    Kind kind = Kind::other;
    std::uint8_t opcode = 0;           ///< of the BTH
    std::uint8_t flags = 0;            ///< of TCP, FIN lowest
    bool plain = false;                ///< see read_plain
    std::uint32_t identification = 0;  ///< of IPv4; 0 where there is none
    std::uint32_t offset = 0;          ///< of the BTH, TCP header or MAC control opcode
    std::uint32_t selector = 0;        ///< destination QPN, or both ports
    std::uint32_t position = 0;        ///< PSN, or sequence number
    std::uint32_t payload = 0;         ///< octets on the wire
};

/// What can be told of a frame without remembering any other; the innermost addresses as dissect::Dissection has them.
struct Glance : TransportGlance {
    Address source;  ///< Family::none where the frame has no network layer
    Address destination;
};

/// Where the BTH of a plain frame begins.
inline constexpr std::uint32_t plain_bth_offset = 14 + 20 + 8;

/// Ethernet, IPv4 without options, UDP, and a BTH with all of its extended headers and its ICRC, every length of which
/// agrees with every other, captured whole, and no management datagram: nothing that a dissector would say more of.
/// Fills in nothing where the frame is not of that shape.
inline bool read_plain(const wire::Frame& frame, TransportGlance& out) {
    constexpr std::uint32_t ip = 14;
    constexpr std::uint32_t udp = ip + 20;
    constexpr std::uint32_t around = 12 + 4;  // BTH and ICRC
    constexpr std::uint32_t type_and_version = 0x080045;
    const std::byte* const p = frame.bytes.data();
    const std::size_t size = frame.bytes.size();
    if (size < plain_bth_offset + around || size != frame.wire_length || size > 0xffff ||
        frame.link_type != wire::LinkType::ethernet)
        return false;
    const std::uint32_t total = static_cast<std::uint32_t>(size) - ip;
    const std::uint32_t fragment = wire::load_be16(p + ip + 6) & 0x3fffu;  // more of them, or an offset
    // Each comparison leaves zero where it holds: one branch for all.
    const std::uint32_t differs =
        (wire::load_be32(p + 12) >> 8 ^ type_and_version) | (wire::load_be16(p + ip + 2) ^ total) | fragment |
        (wire::load_u8(p + ip + 9) ^ 17u) |
        (wire::load_be32(p + udp + 2) ^ (std::uint32_t{wire::udp_port::roce} << 16 | (total - 20)));
    if (differs != 0) return false;
    const std::byte* const bth = p + plain_bth_offset;
    const wire::BthOpcode& opcode = wire::bth_opcode(wire::load_u8(bth));
    const std::uint32_t flags = wire::load_u8(bth + 1);
    const std::uint32_t selector = wire::load_be32(bth + 4) & 0xffffff;
    const std::uint32_t headers = plain_bth_offset + around + opcode.header_octets + (flags >> 4 & 3);
    if (!opcode.known() || (flags & 15) != 0 || selector <= 1 || size < headers ||
        (size != headers && !opcode.has_payload))
        return false;
    out.kind = Glance::Kind::bth;
    out.opcode = wire::load_u8(bth);
    out.flags = 0;
    out.identification = wire::load_be16(p + ip + 4);
    out.offset = plain_bth_offset;
    out.selector = selector;
    out.position = wire::load_be32(bth + 8) & 0xffffff;
    out.payload = static_cast<std::uint32_t>(size) - headers;
    out.plain = true;
    return true;
}

/// Of a frame that dissect::is_plain_segment().
inline void read_plain_segment(const wire::Frame& frame, TransportGlance& out) {
    const std::byte* const ip = frame.bytes.data() + 14;
    const std::byte* const tcp = frame.bytes.data() + dissect::plain_tcp_offset;
    out.kind = Glance::Kind::tcp;
    out.flags = wire::load_u8(tcp + 13);
    out.identification = wire::load_be16(ip + 4);
    out.offset = dissect::plain_tcp_offset;
    out.selector = wire::load_be32(tcp);
    out.position = wire::load_be32(tcp + 4);
    out.payload = wire::load_be16(ip + 2) - 20u - (wire::load_u8(tcp + 12) >> 4) * 4u;
}

/// The usual shapes are read in place; all others are dissected into `scratch`. The addresses of a fragment are those
/// of the fragmented datagram, so that all of its fragments say the same.
void glance(const wire::Frame& frame, dissect::Dissection& scratch, Glance& out);

}  // namespace metrics
