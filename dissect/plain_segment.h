#pragma once
#include <cstdint>
#include <cstring>

#include "dissect/dissection.h"
#include "dissect/ipv4_ends.h"
#include "wire/ether_type.h"
#include "wire/frame.h"
#include "wire/ip_protocol.h"

namespace dissect {

/// Where TCP begins in a plain segment, and the two addresses of IPv4.
inline constexpr std::uint32_t plain_tcp_offset = 14 + 20;
inline constexpr std::uint32_t plain_addresses_offset = 14 + 12;

/// False if a frame is clearly not a plain segment: for callers that also check for other shapes.
inline bool may_be_plain_segment(const wire::Frame& frame) {
    constexpr std::uint32_t protocol = 14 + 9;
    return frame.bytes.size() > protocol && base::load_u8(frame.bytes.data() + protocol) == wire::ip_protocol::tcp;
}

/// Ethernet, IPv4 without options and in one piece, and a TCP segment whose header length and the datagram's agree,
/// captured to its end: there is only one way to parse it. Padding may follow, as in any short frame. `payload` is set
/// to the payload's length; it is not changed for other frames.
inline bool is_plain_segment(const wire::Frame& frame, std::uint32_t& payload) {
    constexpr std::uint32_t ip = 14;
    constexpr std::uint32_t least_header = 20;
    constexpr std::uint32_t type_and_version = std::uint32_t{wire::ether_type::ipv4} << 8 | 0x45;
    const std::byte* const p = frame.bytes.data();
    const std::size_t size = frame.bytes.size();
    if (size < plain_tcp_offset + least_header || size > frame.wire_length ||
        frame.link_type != wire::LinkType::ethernet)
        return false;
    const std::uint64_t front = base::load_be64(p + 12);  // to the identification
    constexpr std::uint32_t fragment_and_protocol = 0x3fff00ff;
    const std::uint32_t differs = (static_cast<std::uint32_t>(front >> 40) ^ type_and_version) |
                                  ((base::load_be32(p + ip + 6) & fragment_and_protocol) ^ wire::ip_protocol::tcp);
    const std::uint32_t total = static_cast<std::uint32_t>(front >> 16) & 0xffff;
    const std::uint32_t header = (base::load_u8(p + plain_tcp_offset + 12) >> 4) * 4u;
    if (differs != 0 || header < least_header || total < 20 + header || ip + total > size) return false;
    payload = total - 20 - header;
    return true;
}

/// The ends of a plain segment, without reading the rest.
inline Ipv4Ends plain_segment_ends(base::Bytes bytes) {
    Ipv4Ends ends;
    ends.known = true;
    std::memcpy(&ends.addresses, bytes.data() + plain_addresses_offset, sizeof ends.addresses);
    ends.ports = base::load_be32(bytes.data() + plain_tcp_offset);
    return ends;
}

/// A dissection in which plain segments are described one after the other: their common values are filled in once.
class PlainSegment {
public:
    PlainSegment() {
        const auto add = [this](LayerId id, std::uint32_t offset, std::uint32_t length) {
            dissection_.layers[dissection_.layer_count] = {id, 0, dissection_.layer_count, offset, length, length};
            ++dissection_.layer_count;
            dissection_.present.insert(id);
        };
        add(LayerId::ethernet, 0, 14);
        add(LayerId::ipv4, 14, 20);
        add(LayerId::tcp, plain_tcp_offset, 20);
        dissection_.network.family = Network::Family::ipv4;
        dissection_.network.source_offset = plain_addresses_offset;
        dissection_.network.destination_offset = plain_addresses_offset + 4;
    }

    /// The dissection of a frame that is_plain_segment, as dissect_frame would make it; valid until the next call.
    const Dissection& describe(const wire::Frame& frame) {
        const std::byte* const ip = frame.bytes.data() + 14;
        const std::byte* const p = frame.bytes.data() + plain_tcp_offset;
        const std::uint32_t header = (base::load_u8(p + 12) >> 4) * 4u;
        dissection_.layers[2].length = dissection_.layers[2].wire_length = header;
        dissection_.network.traffic_class = base::load_u8(ip + 1);
        dissection_.network.hop_limit = base::load_u8(ip + 8);
        dissection_.source_port = base::load_be16(p);
        dissection_.destination_port = base::load_be16(p + 2);
        TcpSummary& tcp = dissection_.tcp;
        tcp.sequence = base::load_be32(p + 4);
        tcp.acknowledgment = base::load_be32(p + 8);
        tcp.flags = base::load_u8(p + 13);
        tcp.window = base::load_be16(p + 14);
        tcp.payload_offset = plain_tcp_offset + header;
        tcp.payload_captured = tcp.payload_length = base::load_be16(ip + 2) - 20u - header;
        return dissection_;
    }

private:
    Dissection dissection_;
};

}  // namespace dissect
