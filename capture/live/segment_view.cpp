#include "capture/live/segment_view.h"

#include <algorithm>

#include "base/hash.h"
#include "wire/ether_type.h"
#include "wire/ip_protocol.h"

namespace capture::inline live {
namespace {

namespace ether_type = wire::ether_type;
namespace ip_protocol = wire::ip_protocol;

/// Where the transport header is, and where its packet ends on the wire; nothing where it is not TCP.
struct TcpPlace {
    std::size_t at;
    std::size_t end;
    base::Bytes addresses;
};

std::optional<TcpPlace> tcp_in_ipv4(base::Bytes octets, std::size_t ip, std::size_t wire_end) {
    if (octets.size() < ip + 20) return std::nullopt;
    const std::byte* header = octets.data() + ip;
    if (base::load_u8(header + 9) != ip_protocol::tcp || (base::load_be16(header + 6) & 0x1fff) != 0)
        return std::nullopt;
    const std::size_t total = base::load_be16(header + 2);  // 0 in frames that were put together by the adapter
    const std::size_t end = total == 0 ? wire_end : std::min(wire_end, ip + total);
    return TcpPlace{ip + std::size_t{base::load_u8(header) & 0x0fU} * 4, end, octets.subspan(ip + 12, 8)};
}

std::optional<TcpPlace> tcp_in_ipv6(base::Bytes octets, std::size_t ip, std::size_t wire_end) {
    if (octets.size() < ip + 40) return std::nullopt;
    const std::byte* header = octets.data() + ip;
    const std::size_t payload = base::load_be16(header + 4);
    const std::size_t end = payload == 0 ? wire_end : std::min(wire_end, ip + 40 + payload);
    std::uint8_t next = base::load_u8(header + 6);
    std::size_t at = ip + 40;
    if (next == ip_protocol::hop_by_hop || next == ip_protocol::routing || next == ip_protocol::destination_options) {
        if (octets.size() < at + 2) return std::nullopt;
        next = base::load_u8(octets.data() + at);
        at += 8 + std::size_t{base::load_u8(octets.data() + at + 1)} * 8;
    }
    if (next != ip_protocol::tcp) return std::nullopt;
    return TcpPlace{at, end, octets.subspan(ip + 8, 32)};
}

std::optional<TcpPlace> tcp_place(const wire::Frame& frame) {
    const base::Bytes octets = frame.bytes;
    if (octets.size() < 34) return std::nullopt;
    std::size_t ip = 0;
    std::uint16_t type = base::load_u8(octets.data()) >> 4 == 6 ? ether_type::ipv6 : ether_type::ipv4;
    if (frame.link_type == wire::LinkType::ethernet) {
        ip = 14;
        type = base::load_be16(octets.data() + 12);
        for (int tags = 0; tags < 3; ++tags) {
            if (type != ether_type::vlan && type != ether_type::qinq && type != ether_type::qinq_old) break;
            type = base::load_be16(octets.data() + ip + 2);
            ip += 4;
        }
    }
    if (type == ether_type::ipv4) return tcp_in_ipv4(octets, ip, frame.wire_length);
    if (type == ether_type::ipv6) return tcp_in_ipv6(octets, ip, frame.wire_length);
    return std::nullopt;
}

}  // namespace

bool is_tcp(const wire::Frame& frame) { return tcp_place(frame).has_value(); }

std::optional<SegmentView> parse_segment(const wire::Frame& frame) {
    const auto place = tcp_place(frame);
    if (!place || frame.bytes.size() < place->at + 20) return std::nullopt;
    const std::byte* tcp = frame.bytes.data() + place->at;
    const std::size_t begin = place->at + (base::load_u8(tcp + 12) >> 4) * std::size_t{4};
    SegmentView segment{.source = base::load_be16(tcp),
                        .destination = base::load_be16(tcp + 2),
                        .sequence = base::load_be32(tcp + 4),
                        .acknowledged = base::load_be32(tcp + 8),
                        .flags = base::load_u8(tcp + 13),
                        .flow = 0,
                        .addresses = place->addresses,
                        .payload = {},
                        .payload_on_wire = 0};
    if (begin >= place->at + 20 && begin < place->end && begin < frame.bytes.size()) {
        segment.payload_on_wire = place->end - begin;
        segment.payload = frame.bytes.subspan(begin, std::min(frame.bytes.size(), place->end) - begin);
        segment.flow = base::fnv(base::fnv(base::fnv_begin, place->addresses), {tcp, 4});
    }
    return segment;
}

}  // namespace capture::live
