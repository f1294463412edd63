#include "metrics/measure/packet/packet_summary.h"

#include <algorithm>

#include "base/bytes.h"
#include "dissect/dissector.h"
#include "metrics/measure/packet/packet_addresses.h"
#include "wire/bth_opcode.h"
#include "wire/carrier.h"
#include "wire/ether_type.h"
#include "wire/ip_protocol.h"
#include "wire/udp_port.h"

namespace metrics::inline measure::inline packet {

namespace {

using dissect::LayerId;
using Family = wire::AddressFamily;

constexpr std::uint32_t bth_octets = 12;
constexpr std::uint32_t icrc_octets = 4;
constexpr std::uint32_t udp_octets = 8;
constexpr std::uint32_t least_tcp_octets = 20;

/// Where the network layer begins, and its EtherType; 0 = to be dissected.
struct Start {
    std::uint32_t offset = 0;
    std::uint16_t type = 0;
};

Start after_tags(base::Bytes bytes, std::uint32_t type_offset) {
    for (unsigned tags = 0; tags <= 2; ++tags) {
        if (bytes.size() < type_offset + 2) return {};
        const std::uint16_t type = base::load_be16(bytes.data() + type_offset);
        if (type != wire::ether_type::vlan && type != wire::ether_type::qinq && type != wire::ether_type::qinq_old)
            return {type_offset + 2, type};
        type_offset += 4;
    }
    return {};
}

Start start_of(const wire::Frame& frame) {
    constexpr std::uint32_t ethernet_type_offset = 12;
    if (frame.link_type == wire::LinkType::ethernet) [[likely]]
        return after_tags(frame.bytes, ethernet_type_offset);
    return {};
}

/// `end` is where the datagram ends on the wire.
bool read_bth(base::Bytes bytes, std::uint32_t at, std::uint32_t end, PacketSummary& out) {
    if (bytes.size() < at + bth_octets) return false;
    const std::byte* p = bytes.data() + at;
    out.kind = PacketSummary::Kind::bth;
    out.offset = at;
    out.opcode = base::load_u8(p);
    out.selector = base::load_be24(p + 5);
    out.position = base::load_be24(p + 9);
    const std::uint32_t pad = base::load_u8(p + 1) >> 4 & 3u;
    const std::uint32_t around = bth_octets + wire::bth_opcode(out.opcode).header_octets + pad + icrc_octets;
    out.payload = end > at + around ? end - at - around : 0;
    return true;
}

bool read_tcp(base::Bytes bytes, std::uint32_t at, std::uint32_t end, PacketSummary& out) {
    if (bytes.size() < at + least_tcp_octets) return false;
    const std::byte* p = bytes.data() + at;
    out.kind = PacketSummary::Kind::tcp;
    out.offset = at;
    out.selector = base::load_be32(p);
    out.position = base::load_be32(p + 4);
    const std::uint32_t header = (base::load_u8(p + 12) >> 4) * 4u;
    out.flags = base::load_u8(p + 13);
    out.payload = end > at + header ? end - at - header : 0;
    return true;
}

/// What lies deeper must be dissected, and what is not looked into must be noted.
bool leads_on(std::uint16_t port) { return wire::udp_port::is_tunnel(port) || wire::is_unread_udp_port(port); }

bool read_transport(base::Bytes bytes, std::uint8_t protocol, std::uint32_t at, std::uint32_t end, PacketSummary& out) {
    if (protocol == wire::ip_protocol::tcp) return read_tcp(bytes, at, end, out);
    if (protocol != wire::ip_protocol::udp || bytes.size() < at + udp_octets) return false;
    const std::uint16_t port = base::load_be16(bytes.data() + at + 2);
    if (port != wire::udp_port::roce) return !leads_on(port);
    const std::uint32_t length = base::load_be16(bytes.data() + at + 4);
    // A length that contradicts the IP header's is for the dissector to judge.
    if (length != 0 && (length < udp_octets || at + length > end)) return false;
    return read_bth(bytes, at + udp_octets, length == 0 ? end : at + length, out);
}

void set_address(Address& address, Family family, const std::byte* from, std::size_t octets) {
    address.family = family;
    std::memcpy(address.octets.data(), from, octets);
}

bool read_ipv4(const wire::Frame& frame, std::uint32_t at, PacketSummary& out) {
    const base::Bytes bytes = frame.bytes;
    if (bytes.size() < at + 20) return false;
    const std::byte* p = bytes.data() + at;
    const unsigned first = base::load_u8(p);
    const std::uint32_t header = (first & 15) * 4;
    constexpr std::uint16_t fragment = 0x3fff;
    if (first >> 4 != 4 || header < 20 || (base::load_be16(p + 6) & fragment) != 0) return false;
    const std::uint32_t total = base::load_be16(p + 2);
    if (total < header && total != 0) return false;
    const std::uint32_t end = total == 0 ? frame.wire_length : at + total;
    if (end > frame.wire_length || bytes.size() < at + header) return false;
    set_address(out.source, Family::ipv4, p + 12, 4);
    set_address(out.destination, Family::ipv4, p + 16, 4);
    out.identification = base::load_be16(p + 4);
    return read_transport(bytes, base::load_u8(p + 9), at + header, end, out);
}

bool read_ipv6(const wire::Frame& frame, std::uint32_t at, PacketSummary& out) {
    const base::Bytes bytes = frame.bytes;
    if (bytes.size() < at + 40) return false;
    const std::byte* p = bytes.data() + at;
    if (base::load_u8(p) >> 4 != 6) return false;
    const std::uint32_t payload = base::load_be16(p + 4);
    const std::uint32_t end = payload == 0 ? frame.wire_length : at + 40 + payload;
    if (end > frame.wire_length) return false;
    set_address(out.source, Family::ipv6, p + 8, 16);
    set_address(out.destination, Family::ipv6, p + 24, 16);
    return read_transport(bytes, base::load_u8(p + 6), at + 40, end, out);
}

bool read_grh(const wire::Frame& frame, std::uint32_t at, PacketSummary& out) {
    const base::Bytes bytes = frame.bytes;
    if (bytes.size() < at + 40) return false;
    const std::byte* p = bytes.data() + at;
    const std::uint32_t end = at + 40 + base::load_be16(p + 4);
    if (base::load_u8(p) >> 4 != 6 || end > frame.wire_length || base::load_u8(p + 6) != wire::ip_protocol::bth)
        return false;
    set_address(out.source, Family::gid, p + 8, 16);
    set_address(out.destination, Family::gid, p + 24, 16);
    return read_bth(bytes, at + 40, end, out);
}

bool read_usual(const wire::Frame& frame, PacketSummary& out) {
    const Start start = start_of(frame);
    switch (start.type) {
        case wire::ether_type::ipv4:
            if (!read_ipv4(frame, start.offset, out)) return false;
            if (std::uint32_t payload = 0; plain_opcode(frame, payload) != nullptr)
                static_cast<TransportSummary&>(out) = summarize_plain(frame, payload);
            return true;
        case wire::ether_type::ipv6: return read_ipv6(frame, start.offset, out);
        case wire::ether_type::roce: return read_grh(frame, start.offset, out);
        case wire::ether_type::arp: return true;
        default: return false;
    }
}

/// The outermost datagram that the frame holds only a fragment of.
void set_fragment_addresses(const dissect::Dissection& dissection, base::Bytes bytes, PacketSummary& out) {
    for (unsigned i = 0; i < dissection.own_layer_count(); ++i) {
        const dissect::LayerRef& layer = dissection.layers[i];
        const std::byte* p = bytes.data() + layer.offset;
        if (layer.id == LayerId::ipv4 && (base::load_be16(p + 6) & 0x3fff) != 0) {
            out.source = {};
            out.destination = {};
            set_address(out.source, Family::ipv4, p + 12, 4);
            set_address(out.destination, Family::ipv4, p + 16, 4);
            return;
        }
        if (layer.id != LayerId::ipv6_fragment) continue;
        for (unsigned j = i; j-- > 0;) {
            if (dissection.layers[j].id != LayerId::ipv6) continue;
            p = bytes.data() + dissection.layers[j].offset;
            set_address(out.source, Family::ipv6, p + 8, 16);
            set_address(out.destination, Family::ipv6, p + 24, 16);
            return;
        }
    }
}

void read_dissected(const wire::Frame& frame, dissect::Dissection& dissection, PacketSummary& out) {
    dissect::ParseOptions options;
    options.verify_crc = false;
    dissect::dissect_frame(frame, options, dissection);
    out.unread = dissection.unread;
    out.cut_octets = dissection.cut_octets;
    out.source = source_address(dissection, frame.bytes);
    out.destination = destination_address(dissection, frame.bytes);
    const auto innermost = [&](LayerId id) { return dissection.find(id)->offset; };
    if (dissection.network.family == Family::ipv4 && dissection.has(LayerId::ipv4))
        out.identification = base::load_be16(frame.bytes.data() + innermost(LayerId::ipv4) + 4);
    if (dissection.fragmented) set_fragment_addresses(dissection, frame.bytes, out);
    if (!dissection.quoted.empty()) {
        const dissect::Network& quoted = dissection.quoted_network;
        out.quoted_source = address_at(quoted.family, quoted.source_offset, frame.bytes);
        out.quoted_destination = address_at(quoted.family, quoted.destination_offset, frame.bytes);
    }
    if (dissection.has(LayerId::mac_control)) {
        out.kind = PacketSummary::Kind::mac_control;
        out.offset = innermost(LayerId::mac_control);
    } else if (dissection.has(LayerId::bth)) {
        const auto end = static_cast<std::uint32_t>(frame.wire_length);
        const std::uint32_t at = innermost(LayerId::bth);
        if (read_bth(frame.bytes, at, end, out)) {
            const bool known = dissection.has(LayerId::payload) || dissection.has(LayerId::mad);
            out.payload = known ? dissection.bth.payload_length : 0;
        }
    } else if (dissection.has(LayerId::tcp)) {
        if (read_tcp(frame.bytes, innermost(LayerId::tcp), 0, out)) out.payload = dissection.tcp.payload_length;
    }
}

}  // namespace

void summarize(const wire::Frame& frame, dissect::Dissection& scratch, PacketSummary& out) {
    out = {};
    if (read_usual(frame, out)) [[likely]]
        return;
    out = {};
    read_dissected(frame, scratch, out);
}

}  // namespace metrics::measure::packet
