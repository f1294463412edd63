#include "upper/protocols/ipoib_protocol.h"

#include <fmt/core.h>

#include "base/text_format.h"
#include "wire/ip_protocol.h"
#include "wire/ipoib_packet.h"

namespace upper::protocols {

namespace {

constexpr std::uint32_t ipoib_header_bytes = 4;

/// Private data hold the queue pair and the longest packet. This is accepted if the service is IPoIB's.
bool ipoib_read_private_data(base::Bytes, ConnectionFacts&) { return false; }

Shape ipoib_shape(base::Bytes head, std::uint64_t length) {
    return wire::is_ipoib_packet(head, length) ? Shape::either : Shape::none;
}

void ipoib_parse(base::Bytes head, std::uint64_t length, bool, ConnectionFacts&, Said& said) {
    if (!wire::is_ipoib_packet(head, length)) return;
    said.type = Said::Type::other;
    switch (base::load_be16(head.data())) {
        case wire::ether_type::ipv4: said.event = "IPv4"; return;
        case wire::ether_type::ipv6: said.event = "IPv6"; return;
        case wire::ether_type::arp: said.event = "ARP"; return;
        default: said.event = "RARP"; return;
    }
}

/// ` TCP 40002 > 22`
void add_transport(std::uint8_t protocol, base::Bytes rest, std::string& out) {
    switch (protocol) {
        case wire::ip_protocol::tcp: out += " TCP"; break;
        case wire::ip_protocol::udp: out += " UDP"; break;
        case wire::ip_protocol::icmp: out += " ICMP"; return;
        case wire::ip_protocol::icmpv6: out += " ICMPv6"; return;
        default: out += fmt::format(" protocol {}", protocol); return;
    }
    if (rest.size() < 4) return;
    out += fmt::format(" {} > {}", base::load_be16(rest.data()), base::load_be16(rest.data() + 2));
}

void add_ipv4_words(base::Bytes packet, std::string& out) {
    constexpr std::size_t size = 20;
    if (packet.size() < size) return;
    out += ' ';
    base::append_ipv4(out, packet.subspan(12, 4));
    out += " > ";
    base::append_ipv4(out, packet.subspan(16, 4));
    const bool is_first = (base::load_be16(packet.data() + 6) & 0x1fff) == 0;
    const std::size_t header = std::size_t{base::load_u8(packet.data()) & 15u} * 4;
    add_transport(base::load_u8(packet.data() + 9),
                  is_first && header <= packet.size() ? packet.subspan(header) : base::Bytes{}, out);
}

void add_ipv6_words(base::Bytes packet, std::string& out) {
    constexpr std::size_t size = 40;
    if (packet.size() < size) return;
    out += ' ';
    base::append_ipv6(out, packet.subspan(8, 16));
    out += " > ";
    base::append_ipv6(out, packet.subspan(24, 16));
    add_transport(base::load_u8(packet.data() + 6), packet.subspan(size), out);
}

/// ` who has 10.0.0.2 tell 10.0.0.1`, ` 10.0.0.2 is at qp 0x000049 gid fe80::2`
void add_arp_words(base::Bytes packet, std::string& out) {
    const auto arp = wire::parse<wire::IpoibArp>(packet);
    if (!arp) return;
    if (arp->opcode == 1) {
        out += " who has ";
        base::append_ipv4(out, arp->target_address);
        out += " tell ";
        base::append_ipv4(out, arp->sender_address);
    } else {
        out += ' ';
        base::append_ipv4(out, arp->sender_address);
        out += " is";
    }
    out += fmt::format(" at qp 0x{:06x} gid ", wire::ipoib_queue_pair(arp->sender_hardware.data()));
    base::append_ipv6(out, base::Bytes(arp->sender_hardware).subspan(4));
}

bool ipoib_is_datagram(base::Bytes payload, std::uint64_t length, base::Bytes) {
    return wire::is_ipoib_packet(payload, length);
}

void ipoib_add_words(const LineContext& line, std::string& out) {
    if (!wire::is_ipoib_packet(line.head, line.length)) return;
    const base::Bytes packet = line.head.subspan(ipoib_header_bytes);
    switch (base::load_be16(line.head.data())) {
        case wire::ether_type::ipv4: add_ipv4_words(packet, out); break;
        case wire::ether_type::ipv6: add_ipv6_words(packet, out); break;
        default: add_arp_words(packet, out); return;
    }
    out += fmt::format(" len {}", line.length - ipoib_header_bytes);
}

StatusMeaning ipoib_status(std::uint32_t, std::uint32_t) { return {}; }

}  // namespace

constinit const Protocol ipoib{
    .name = "ipoib",
    .heading = "IPoIB",
    .id_word = "",
    .id_digits = 0,
    .target_word = "",
    .ports = {},
    .is_service = wire::is_ipoib_service,
    .read_private_data = ipoib_read_private_data,
    .shape = ipoib_shape,
    .parse = ipoib_parse,
    .status = ipoib_status,
    .is_datagram = ipoib_is_datagram,
    .add_words = ipoib_add_words,
    .request_layer = dissect::LayerId::ipoib_packet,
    .response_layer = dissect::LayerId::ipoib_packet,
    .data_layer = dissect::LayerId::ipoib_packet,
    .datagram_layer = dissect::LayerId::ipoib_packet,
    .private_data_layers = {dissect::LayerId::ipoib_connect, dissect::LayerId::ipoib_connect, dissect::LayerId::none},
};

}  // namespace upper::protocols
