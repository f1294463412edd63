#include "tests/model/packet.h"

#include <algorithm>
#include <span>

#include "wire/aeth.h"
#include "wire/atomicacketh.h"
#include "wire/atomiceth.h"
#include "wire/bth.h"
#include "wire/checksum.h"
#include "wire/ethernet.h"
#include "wire/grh.h"
#include "wire/icrc.h"
#include "wire/ieth.h"
#include "wire/immdt.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/lrh.h"
#include "wire/mac_control.h"
#include "wire/reth.h"
#include "wire/udp.h"
#include "wire/udp_port.h"
#include "wire/vcrc.h"
#include "wire/vxlan.h"

namespace model {
namespace {

using metrics::Operation;

std::uint32_t pad_of(const Packet& packet) { return (0u - packet.payload) & 3; }

std::uint32_t transport_octets(const Packet& packet) {
    return static_cast<std::uint32_t>(wire::size_of<wire::Bth>) + packet.meaning().header_octets + packet.payload +
           pad_of(packet) + wire::icrc_octets;
}

std::uint32_t network_octets(Framing framing) {
    switch (framing) {
        case Framing::roce2_ipv4: return 14 + 20 + 8;
        case Framing::roce2_ipv6: return 14 + 40 + 8;
        case Framing::roce1: return 14 + 40;
        case Framing::infiniband: break;
    }
    return 8;
}

/// Appends headers to a frame whose length was set beforehand.
class Pen {
public:
    explicit Pen(std::vector<std::byte>& out) : out_(out) {}
    template <class H>
    void put(const H& header) {
        wire::emit<H>(std::span<std::byte, wire::size_of<H>>{out_.data() + at, wire::size_of<H>}, header);
        at += wire::size_of<H>;
    }
    std::size_t at = 0;

private:
    std::vector<std::byte>& out_;
};

wire::MacAddress mac(std::uint32_t host) {
    wire::MacAddress address{std::byte{2}};
    base::store_be32(address.data() + 2, host);
    return address;
}
wire::Ipv4Address ipv4(std::uint32_t host) {
    wire::Ipv4Address address{};
    base::store_be32(address.data(), 0x0a000001u + host);
    return address;
}
wire::Ipv6Address ipv6(std::uint32_t host) {
    wire::Ipv6Address address{std::byte{0x20}, std::byte{0x01}, std::byte{0x0d}, std::byte{0xb8}};
    base::store_be32(address.data() + 12, host + 1);
    return address;
}

void put_network(Pen& pen, const Packet& packet, Framing framing, std::vector<std::byte>& out) {
    const std::uint32_t transport = transport_octets(packet);
    if (framing == Framing::infiniband) {
        wire::Lrh lrh;
        lrh.link_next_header = static_cast<std::uint8_t>(wire::LinkNextHeader::bth);
        lrh.destination_lid = static_cast<std::uint16_t>(packet.destination_host + 1);
        lrh.source_lid = static_cast<std::uint16_t>(packet.source_host + 1);
        lrh.packet_length = static_cast<std::uint16_t>((8 + transport) / 4);
        pen.put(lrh);
        return;
    }
    constexpr std::array<std::uint16_t, 3> types{wire::ether_type::ipv4, wire::ether_type::ipv6,
                                                 wire::ether_type::roce};
    pen.put(wire::Ethernet{mac(packet.destination_host), mac(packet.source_host),
                           types[static_cast<std::size_t>(framing)]});
    constexpr std::uint8_t dscp = 26;
    if (framing == Framing::roce1) {
        wire::Grh grh;
        grh.traffic_class = static_cast<std::uint8_t>(dscp << 2 | packet.ecn);
        grh.payload_length = static_cast<std::uint16_t>(transport);
        grh.next_header = wire::grh_next_header_bth;
        grh.hop_limit = 64;
        grh.source_gid = ipv6(packet.source_host);
        grh.destination_gid = ipv6(packet.destination_host);
        pen.put(grh);
        return;
    }
    wire::Udp udp{packet.source_port, wire::udp_port::roce, static_cast<std::uint16_t>(8 + transport), 0};
    if (framing == Framing::roce2_ipv4) {
        wire::Ipv4 ip;
        ip.dscp = dscp;
        ip.ecn = packet.ecn;
        ip.total_length = static_cast<std::uint16_t>(28 + transport);
        ip.identification = packet.identification;
        ip.dont_fragment = true;
        ip.ttl = packet.hop_limit;
        ip.protocol = wire::ip_protocol::udp;
        ip.source = ipv4(packet.source_host);
        ip.destination = ipv4(packet.destination_host);
        const std::size_t start = pen.at;
        pen.put(ip);
        base::store_be16(out.data() + start + 10, wire::internet_checksum({out.data() + start, 20}));
    } else {
        wire::Ipv6 ip;
        ip.dscp = dscp;
        ip.ecn = packet.ecn;
        ip.flow_label = packet.flow_label;
        ip.payload_length = static_cast<std::uint16_t>(8 + transport);
        ip.next_header = wire::ip_protocol::udp;
        ip.hop_limit = packet.hop_limit;
        ip.source = ipv6(packet.source_host);
        ip.destination = ipv6(packet.destination_host);
        pen.put(ip);
    }
    pen.put(udp);
}

void put_extended(Pen& pen, const Packet& packet, wire::ExtendedHeader header) {
    constexpr std::uint32_t remote_key = 0x1234;
    switch (header) {
        case wire::ExtendedHeader::reth:
            pen.put(wire::Reth{packet.virtual_address, remote_key, packet.dma_length});
            break;
        case wire::ExtendedHeader::atomiceth: pen.put(wire::AtomicEth{packet.virtual_address, remote_key, 1, 0}); break;
        case wire::ExtendedHeader::aeth: pen.put(wire::Aeth{packet.syndrome, packet.msn & 0xffffff}); break;
        case wire::ExtendedHeader::atomicacketh: pen.put(wire::AtomicAckEth{packet.psn}); break;
        case wire::ExtendedHeader::immdt: pen.put(wire::ImmDt{}); break;
        case wire::ExtendedHeader::ieth: pen.put(wire::Ieth{}); break;
        default: pen.at += wire::size_of_header(header); break;
    }
}

support::KeptFrame emit_pause(const Packet& packet, std::int64_t time_ns) {
    support::KeptFrame kept;
    kept.octets.resize(wire::ethernet_minimum);
    kept.wire_length = wire::ethernet_minimum;
    kept.time_ns = time_ns;
    Pen pen(kept.octets);
    constexpr wire::MacAddress everybody{std::byte{0x01}, std::byte{0x80}, std::byte{0xc2},
                                         std::byte{0},    std::byte{0},    std::byte{1}};
    pen.put(wire::Ethernet{everybody, mac(0xffff), wire::ether_type::mac_control});
    pen.put(wire::Pause{wire::mac_control_opcode::pause, packet.pause_quanta});
    return kept;
}

}  // namespace

std::uint8_t opcode_of(Operation operation, std::uint64_t index, std::uint64_t packets) {
    const bool first = index == 0;
    const bool last = index + 1 == packets;
    switch (operation) {
        case Operation::read: return 0x0c;
        case Operation::fetch_add: return 0x14;
        case Operation::compare_swap: return 0x13;
        case Operation::write:
        case Operation::write_immediate: {
            const bool immediate = operation == Operation::write_immediate;
            if (first && last) return immediate ? 0x0b : 0x0a;
            return first ? 0x06 : !last ? 0x07 : immediate ? 0x09 : 0x08;
        }
        default: break;
    }
    if (first && !last) return 0x00;
    if (!last) return 0x01;
    if (operation == Operation::send_immediate) return first ? 0x05 : 0x03;
    if (operation == Operation::send_invalidate) return first ? 0x17 : 0x16;
    return first ? 0x04 : 0x02;
}

std::uint8_t response_opcode(std::uint64_t index, std::uint64_t packets) {
    if (packets == 1) return 0x10;
    return index == 0 ? 0x0d : index + 1 == packets ? 0x0f : 0x0e;
}

std::uint32_t frame_octets(const Packet& packet, Framing framing) {
    if (packet.pause) return wire::ethernet_minimum;
    const std::uint32_t octets = network_octets(framing) + transport_octets(packet);
    if (framing == Framing::infiniband) return octets + wire::vcrc_octets;
    return std::max(octets, std::uint32_t{wire::ethernet_minimum});
}

std::uint32_t link_octets(const Packet& packet, Framing framing) {
    constexpr std::uint32_t preamble_fcs_gap = 8 + 4 + 12;  // IEEE 802.3, 3.1.1 and 4.4.2
    return frame_octets(packet, framing) + (framing == Framing::infiniband ? 0 : preamble_fcs_gap);
}

support::KeptFrame emit(const Packet& packet, Framing framing, std::int64_t time_ns, bool checked) {
    if (packet.pause) return emit_pause(packet, time_ns);
    support::KeptFrame kept;
    kept.octets.resize(frame_octets(packet, framing));
    kept.wire_length = static_cast<std::uint32_t>(kept.octets.size());
    kept.link_type = framing == Framing::infiniband ? wire::LinkType::infiniband : wire::LinkType::ethernet;
    kept.time_ns = time_ns;
    Pen pen(kept.octets);
    put_network(pen, packet, framing, kept.octets);
    const std::size_t transport = pen.at;
    wire::Bth bth;
    bth.opcode = packet.opcode;
    bth.pad_count = static_cast<std::uint8_t>(pad_of(packet));
    bth.becn = packet.notification();
    bth.destination_qp = packet.destination_qp;
    bth.ack_request = packet.ack_request;
    bth.psn = packet.wire_psn;
    pen.put(bth);
    const wire::BthOpcode& meaning = packet.meaning();
    for (unsigned i = 0; i < meaning.header_count; ++i) put_extended(pen, packet, meaning.headers[i]);
    pen.at += packet.payload + pad_of(packet);
    if (!checked) return kept;

    const std::byte* octets = kept.octets.data();
    wire::IcrcPieces pieces;
    switch (framing) {
        case Framing::roce2_ipv4: pieces.network = {octets + 14, 20}, pieces.udp = {octets + 34, 8}; break;
        case Framing::roce2_ipv6: pieces.network = {octets + 14, 40}, pieces.udp = {octets + 54, 8}; break;
        case Framing::roce1: pieces.network = {octets + 14, 40}; break;
        case Framing::infiniband: pieces.lrh = {octets, 8}; break;
    }
    pieces.transport = {octets + transport, pen.at - transport};
    base::store_be32(kept.octets.data() + pen.at, wire::icrc(pieces));
    if (framing == Framing::infiniband)
        base::store_be16(kept.octets.data() + pen.at + 4, wire::vcrc({octets, pen.at + 4}));
    return kept;
}

support::KeptFrame wrap_in_vxlan(const support::KeptFrame& inner, const Packet& packet, std::uint16_t outer_port) {
    // Of the tunnel's ends: far from the addresses of the hosts.
    constexpr std::uint32_t ends = 0x010000;
    const std::uint32_t source = ends + packet.source_host;
    const std::uint32_t destination = ends + packet.destination_host;
    const auto inner_octets = static_cast<std::uint32_t>(inner.octets.size());
    support::KeptFrame kept;
    kept.octets.resize(vxlan_octets + inner_octets);
    kept.wire_length = vxlan_octets + inner.wire_length;
    kept.time_ns = inner.time_ns;
    Pen pen(kept.octets);
    pen.put(wire::Ethernet{mac(destination), mac(source), wire::ether_type::ipv4});
    wire::Ipv4 ip;
    ip.dscp = 26;
    ip.ecn = packet.ecn;
    ip.total_length = static_cast<std::uint16_t>(20 + 8 + 8 + inner_octets);
    ip.ttl = packet.hop_limit;
    ip.protocol = wire::ip_protocol::udp;
    ip.source = ipv4(source);
    ip.destination = ipv4(destination);
    const std::size_t start = pen.at;
    pen.put(ip);
    base::store_be16(kept.octets.data() + start + 10, wire::internet_checksum({kept.octets.data() + start, 20}));
    pen.put(wire::Udp{outer_port, wire::udp_port::vxlan, static_cast<std::uint16_t>(8 + 8 + inner_octets), 0});
    wire::Vxlan vxlan;
    vxlan.has_vni = true;
    vxlan.vni = 7;
    pen.put(vxlan);
    std::copy(inner.octets.begin(), inner.octets.end(), kept.octets.begin() + static_cast<std::ptrdiff_t>(pen.at));
    return kept;
}

}  // namespace model
