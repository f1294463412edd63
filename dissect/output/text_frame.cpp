#include "base/text_format.h"
#include "dissect/layer_table.h"
#include "dissect/output/text_parts.h"
#include "dissect/output/unit_names.h"
#include "dissect/tcp_flags.h"
#include "wire/erspan.h"
#include "wire/ether_type.h"
#include "wire/ethernet.h"
#include "wire/geneve.h"
#include "wire/ip_protocol.h"
#include "wire/ipoib.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/linux_cooked.h"
#include "wire/mac_control.h"
#include "wire/mpls.h"
#include "wire/nsh.h"
#include "wire/null_loopback.h"
#include "wire/pppoe.h"
#include "wire/udp.h"
#include "wire/uet.h"
#include "wire/vlan.h"
#include "wire/vxlan.h"
#include "wire/vxlan_gpe.h"

namespace dissect::output::text {

void pad(std::string& out, std::size_t start, std::size_t width) {
    const std::size_t written = out.size() - start;
    if (written < width) out.append(width - written, ' ');
}

void word(std::string& out, std::string_view name, std::uint64_t decimal) {
    ((out += ' ') += name) += ' ';
    base::append_decimal(out, decimal);
}

void word_hex(std::string& out, std::string_view name, std::uint64_t value, unsigned digits) {
    ((out += ' ') += name) += ' ';
    base::append_hex(out, value, digits);
}

namespace {
/// `host01 mlx5_0 (lid 4)`, or `lid 4`.
void lid(std::string& out, std::uint16_t number, const TextOptions& options) {
    const bool has_name = options.lid_names && options.lid_names(out, number);
    out += has_name ? " (lid " : "lid ";
    base::append_decimal(out, number);
    if (has_name) out += ')';
}
}  // namespace

void address(std::string& out, const Network& network, base::Bytes bytes, std::uint32_t offset,
             const TextOptions& options) {
    const std::uint32_t length = network.address_length();
    if (offset + std::size_t{length} > bytes.size()) {
        out += '?';
        return;
    }
    const base::Bytes address = bytes.subspan(offset, length);
    switch (network.family) {
        case Network::Family::lid: lid(out, base::load_be16(address.data()), options); return;
        case Network::Family::ipv4:
            if (!options.host_names || !options.host_names(out, address)) base::append_ipv4(out, address);
            return;
        case Network::Family::ipv6:
        case Network::Family::gid:
            if (!options.host_names || !options.host_names(out, address)) base::append_ipv6(out, address);
            return;
        case Network::Family::none: return;
    }
}

namespace {

/// A layer's bytes if all of a header `H` were captured.
template <class H>
std::optional<wire::View<H>> view_of(const Dissection& dissection, LayerId id, base::Bytes bytes) {
    const LayerRef* layer = dissection.find(id);
    if (layer == nullptr || layer->offset + std::size_t{layer->length} > bytes.size()) return std::nullopt;
    return wire::View<H>::at(bytes.subspan(layer->offset, layer->length));
}

void append_macs(std::string& out, wire::View<wire::Ethernet> header) {
    base::append_ether(out, header.get<&wire::Ethernet::source>());
    out += " > ";
    base::append_ether(out, header.get<&wire::Ethernet::destination>());
}

/// tcpdump's names for the types that it shows next to RDMA.
std::string_view type_name(std::uint16_t type) {
    switch (type) {
        case wire::ether_type::ipv4: return "IPv4";
        case wire::ether_type::ipv6: return "IPv6";
        case wire::ether_type::arp: return "ARP";
        case wire::ether_type::vlan: return "802.1Q";
        case wire::ether_type::qinq: return "802.1Q-QinQ";
        case wire::ether_type::lldp: return "LLDP";
        case wire::ether_type::mac_control: return "MPCP";
        case wire::ether_type::mpls: return "MPLS unicast";
        case wire::ether_type::roce: return "RoCE";
        default: return "Unknown";
    }
}

void append_type(std::string& out, std::uint16_t type, const TextOptions& options) {
    if (type < wire::ether_type::first_type) {
        out += "802.3";
        return;
    }
    if (options.quiet) {
        out += type_name(type);
        return;
    }
    ((out += "ethertype ") += type_name(type)) += " (";
    base::append_hex(out, type, 4);
    out += ')';
}

}  // namespace

void endpoints(std::string& out, const Dissection& dissection, base::Bytes bytes, bool with_ports,
               const TextOptions& options) {
    const Network& network = dissection.network;
    if (network.family == Network::Family::none) {
        if (const auto header = view_of<wire::Ethernet>(dissection, LayerId::ethernet, bytes))
            append_macs(out, *header);
        else
            out += "? > ?";
        return;
    }
    const auto end = [&](std::uint32_t offset, std::uint16_t port) {
        address(out, network, bytes, offset, options);
        if (!with_ports) return;
        out += '.';
        base::append_decimal(out, port);
    };
    end(network.source_offset, dissection.source_port);
    out += " > ";
    end(network.destination_offset, dissection.destination_port);
}

namespace {

/// ` In `, `Out `: the direction of a frame, according to Linux' cooked headers.
std::string_view direction_name(std::uint8_t packet_type) {
    constexpr std::array<std::string_view, 5> names{"In", "B", "M", "P", "Out"};
    return packet_type < names.size() ? names[packet_type] : "?";
}

/// Of either version: the sender's address where it is one of Ethernet, and the protocol.
template <class H>
bool append_cooked(std::string& out, wire::View<H> header, const TextOptions& options) {
    const std::array<std::byte, 8> address = header.template get<&H::address>();
    if (header.template get<&H::address_length>() == 6) {
        base::append_ether(out, base::Bytes(address).template first<6>());
        out += ' ';
    }
    if (options.quiet) return false;
    append_type(out, header.template get<&H::protocol>(), options);
    out += ", ";
    return true;
}

/// The text before the length; false if tcpdump prints no length.
bool append_link(std::string& out, const wire::Frame& frame, const Dissection& dissection, const TextOptions& options) {
    if (const auto header = view_of<wire::Ethernet>(dissection, LayerId::ethernet, frame.bytes)) {
        append_macs(out, *header);
        out += ", ";
        append_type(out, header->get<&wire::Ethernet::type>(), options);
        out += ", ";
    } else if (const auto cooked = view_of<wire::LinuxCooked>(dissection, LayerId::linux_sll, frame.bytes)) {
        const std::string_view way = direction_name(
            static_cast<std::uint8_t>(std::min<std::uint16_t>(cooked->get<&wire::LinuxCooked::packet_type>(), 0xff)));
        out.append(way.size() < 3 ? 3 - way.size() : 0, ' ');
        (out += way) += ' ';
        return append_cooked(out, *cooked, options);
    } else if (const auto second = view_of<wire::LinuxCooked2>(dissection, LayerId::linux_sll2, frame.bytes)) {
        // Where tcpdump has a name, it is that of the machine that reads, not of the one that captured.
        const std::size_t begin = out.size();
        out += direction_name(second->get<&wire::LinuxCooked2::packet_type>());
        pad(out, begin, 3);
        word(out, "ifindex", second->get<&wire::LinuxCooked2::interface>());
        out += ' ';
        return append_cooked(out, *second, options);
    } else if (const auto loopback = view_of<wire::NullLoopback>(dissection, LayerId::null_loopback, frame.bytes)) {
        const std::uint32_t family = wire::in_any_order(loopback->get<&wire::NullLoopback::family>());
        const std::string_view name = wire::name_of(wire::address_families, family);
        if (!options.quiet) out += "AF ";
        out += name.empty() ? "Unknown" : name;
        if (!options.quiet) {
            out += " (";
            base::append_decimal(out, family);
            out += ')';
        }
        out += ", ";
    } else if (const auto ipoib = view_of<wire::Ipoib>(dissection, LayerId::ipoib, frame.bytes)) {
        out += "IPOIB, ";
        if (options.quiet) out += "ethertype ";
        append_type(out, ipoib->get<&wire::Ipoib::type>(), options);
        out += ", ";
    }
    return true;
}

}  // namespace

void link_header(std::string& out, const wire::Frame& frame, const Dissection& dissection, const TextOptions& options) {
    if (append_link(out, frame, dissection, options)) {
        out += "length ";
        base::append_decimal(out, frame.wire_length);
        out += ": ";
    }
    for (unsigned i = 0; i < dissection.own_layer_count(); ++i) {
        const LayerRef& layer = dissection.layers[i];
        if (layer.id != LayerId::vlan || layer.length < wire::size_of<wire::Vlan>) continue;
        const auto tag = wire::View<wire::Vlan>::unchecked(frame.bytes.data() + layer.offset);
        out += "vlan ";
        base::append_decimal(out, tag.get<&wire::Vlan::id>());
        out += ", p ";
        base::append_decimal(out, tag.get<&wire::Vlan::priority>());
        out += tag.get<&wire::Vlan::drop_eligible>() ? ", DEI, " : ", ";
    }
}

namespace {

/// `vxlan 5001, `: the tunnels and labels that a packet is carried in, the outermost first.
void append_carriers(std::string& out, const Dissection& dissection, base::Bytes bytes) {
    for (unsigned i = 0; i < dissection.own_layer_count(); ++i) {
        const LayerRef& layer = dissection.layers[i];
        if (layer.offset + std::size_t{layer.length} > bytes.size()) continue;
        const base::Bytes octets = bytes.subspan(layer.offset, layer.length);
        const auto carrier = [&]<auto member, class H>(std::string_view name, std::optional<wire::View<H>> header) {
            if (!header) return;
            (out += name) += ' ';
            base::append_decimal(out, header->template get<member>());
            out += ", ";
        };
        switch (layer.id) {
            case LayerId::mpls:
                carrier.operator()<&wire::Mpls::label>("mpls", wire::View<wire::Mpls>::at(octets));
                break;
            case LayerId::vxlan:
                carrier.operator()<&wire::Vxlan::vni>("vxlan", wire::View<wire::Vxlan>::at(octets));
                break;
            case LayerId::vxlan_gpe:
                carrier.operator()<&wire::VxlanGpe::vni>("vxlan", wire::View<wire::VxlanGpe>::at(octets));
                break;
            case LayerId::nsh:
                carrier.operator()<&wire::Nsh::service_path>("nsh", wire::View<wire::Nsh>::at(octets));
                break;
            case LayerId::pppoe:
                carrier.operator()<&wire::Pppoe::session>("pppoe", wire::View<wire::Pppoe>::at(octets));
                break;
            case LayerId::geneve:
                carrier.operator()<&wire::Geneve::vni>("geneve", wire::View<wire::Geneve>::at(octets));
                break;
            case LayerId::erspan2:
                carrier.operator()<&wire::Erspan2::session>("erspan", wire::View<wire::Erspan2>::at(octets));
                break;
            case LayerId::erspan3:
                carrier.operator()<&wire::Erspan3::session>("erspan", wire::View<wire::Erspan3>::at(octets));
                break;
            case LayerId::gre: out += "gre, "; break;
            default: break;
        }
    }
}

}  // namespace

void network_details(std::string& out, const Dissection& dissection, base::Bytes bytes, const TextOptions&) {
    const bool present =
        dissection.network.family != Network::Family::none && dissection.network.family != Network::Family::lid;
    if (!present) return;
    const bool version4 = dissection.network.family == Network::Family::ipv4;
    out += " (";
    append_carriers(out, dissection, bytes);
    out += version4 ? "tos " : "class ";
    base::append_hex(out, dissection.network.traffic_class, 1);
    out += ',';
    word(out, version4 ? "ttl" : "hlim", dissection.network.hop_limit);
    if (const auto header = view_of<wire::Ipv4>(dissection, LayerId::ipv4, bytes); header && version4) {
        out += ',';
        word(out, "id", header->get<&wire::Ipv4::identification>());
        if (header->get<&wire::Ipv4::dont_fragment>()) out += ", flags [DF]";
    } else if (const auto header6 = view_of<wire::Ipv6>(dissection, LayerId::ipv6, bytes); header6 && !version4) {
        out += ',';
        word_hex(out, "flowlabel", header6->get<&wire::Ipv6::flow_label>(), 5);
    }
    if (dissection.has(LayerId::udp)) {
        out += ',';
        word(out, "udp", dissection.source_port);
        out += " > ";
        base::append_decimal(out, dissection.destination_port);
    }
    if (dissection.has(LayerId::tcp)) {
        out += ',';
        word(out, "win", dissection.tcp.window);
    }
    out += ')';
}

bool is_mac_control(const Dissection& dissection) { return dissection.has(LayerId::mac_control); }

void mac_control(std::string& out, const wire::Frame& frame, const Dissection& dissection) {
    if (const auto header = view_of<wire::Ethernet>(dissection, LayerId::ethernet, frame.bytes))
        append_macs(out, *header);
    const LayerRef& layer = *dissection.find(LayerId::mac_control);
    const base::Bytes octets = frame.bytes.subspan(layer.offset, layer.length);
    const auto opcode = octets.size() < 2 ? std::uint16_t{0} : base::load_be16(octets.data());
    const auto priorities = wire::parse<wire::PriorityPause>(octets);
    const auto pause = wire::parse<wire::Pause>(octets);
    if (opcode == wire::mac_control_opcode::priority_pause && priorities) {
        out += " PFC";
        const bool enabled[] = {priorities->enable0, priorities->enable1, priorities->enable2, priorities->enable3,
                                priorities->enable4, priorities->enable5, priorities->enable6, priorities->enable7};
        const std::uint16_t quanta[] = {priorities->quanta0, priorities->quanta1, priorities->quanta2,
                                        priorities->quanta3, priorities->quanta4, priorities->quanta5,
                                        priorities->quanta6, priorities->quanta7};
        for (unsigned i = 0; i < 8; ++i) {
            if (!enabled[i]) continue;
            word(out, "class", i);
            word(out, "quanta", quanta[i]);
        }
    } else if (opcode == wire::mac_control_opcode::pause && pause) {
        out += " pause";
        word(out, "quanta", pause->quanta);
    } else {
        out += " MAC control";
        word_hex(out, "opcode", opcode, 4);
    }
}

namespace {

void append_flags(std::string& out, std::uint8_t flags) {
    constexpr std::string_view letters = "FSRP.UEW";
    out += "Flags [";
    for (unsigned i = 0; i < letters.size(); ++i)
        if ((flags >> i & 1) != 0) out += letters[i];
    if (flags == 0) out += "none";
    out += ']';
}

void append_tcp(std::string& out, const TcpSummary& tcp, TcpSequences::Numbers numbers, const TextOptions& options) {
    if (options.quiet) {
        out += ':';
        word(out, "tcp", tcp.payload_length);
        return;
    }
    out += ": ";
    append_flags(out, tcp.flags);
    if (tcp.payload_length != 0 || (tcp.flags & (tcp_fin | tcp_syn | tcp_rst)) != 0) {
        out += ',';
        word(out, "seq", numbers.sequence);
        if (tcp.payload_length != 0) {
            out += ':';
            base::append_decimal(out, static_cast<std::uint32_t>(numbers.sequence + tcp.payload_length));
        }
    }
    if ((tcp.flags & tcp_ack) != 0) {
        out += ',';
        word(out, "ack", numbers.acknowledgment);
    }
    out += ',';
    word(out, "win", tcp.window);
    out += ',';
    word(out, "length", tcp.payload_length);
}

/// Bytes after the network header on the wire, and the protocol's number.
struct NetworkPayload {
    std::uint8_t protocol = 0;
    std::uint32_t length = 0;
};

std::optional<NetworkPayload> network_payload(const Dissection& dissection, base::Bytes bytes) {
    if (const auto header = view_of<wire::Ipv4>(dissection, LayerId::ipv4, bytes)) {
        const std::uint32_t header_octets = header->get<&wire::Ipv4::header_words>() * 4u;
        const std::uint32_t total = header->get<&wire::Ipv4::total_length>();
        return NetworkPayload{header->get<&wire::Ipv4::protocol>(), total < header_octets ? 0 : total - header_octets};
    }
    if (const auto header = view_of<wire::Ipv6>(dissection, LayerId::ipv6, bytes)) {
        // Extension headers may stand between; the protocol after them is mostly ICMPv6.
        const auto next = header->get<&wire::Ipv6::next_header>();
        return NetworkPayload{next, header->get<&wire::Ipv6::payload_length>()};
    }
    return std::nullopt;
}

/// ": UDP,", or ": UET RUD_REQ," for Ultra Ethernet.
void append_udp_name(std::string& out, const Dissection& dissection, base::Bytes bytes) {
    const LayerRef* const udp = dissection.find(LayerId::udp);
    const std::size_t payload = udp == nullptr ? bytes.size() : std::size_t{udp->offset} + wire::size_of<wire::Udp>;
    if (dissection.destination_port == wire::uet_udp_port && payload < bytes.size()) {
        const auto type = static_cast<unsigned>(base::load_u8(bytes.data() + payload) >> 3);
        if (const std::string_view name = wire::name_of(wire::uet_packet_types, type); !name.empty()) {
            ((out += ": UET ") += name) += ',';
            return;
        }
    }
    out += ": UDP,";
}

void append_ip(std::string& out, const Dissection& dissection, base::Bytes bytes, TcpSequences::Numbers numbers,
               const TextOptions& options) {
    const bool ports = dissection.has(LayerId::tcp) || dissection.has(LayerId::udp);
    out += dissection.network.family == Network::Family::ipv6 ? "IP6 " : "IP ";
    endpoints(out, dissection, bytes, ports, options);
    if (dissection.has(LayerId::tcp)) return append_tcp(out, dissection.tcp, numbers, options);
    const auto payload = network_payload(dissection, bytes);
    if (dissection.has(LayerId::udp)) {
        const std::uint32_t length = payload && payload->length >= 8 ? payload->length - 8 : 0;
        append_udp_name(out, dissection, bytes);
        word(out, "length", length);
        return;
    }
    if (!payload) return;
    const std::size_t begin = out.size();
    out += dissection.has(LayerId::icmpv6) ? ": ICMP6, " : ": ICMP ";
    if (icmp_words(out, dissection, bytes, options)) {
        out += ',';
        return word(out, "length", payload->length);
    }
    out.resize(begin);
    const std::string_view name = wire::name_of(wire::ip_protocol::names, payload->protocol);
    out += ": ";
    if (payload->protocol == wire::ip_protocol::icmpv6) {
        out += "ICMP6";
    } else if (name.empty()) {
        out += "ip-proto-";
        base::append_decimal(out, payload->protocol);
    } else {
        out += name;
    }
    out += ',';
    word(out, "length", payload->length);
}

/// An Ethernet ARP packet for IPv4. RFC 826.
void append_arp(std::string& out, base::Bytes octets, const TextOptions& options) {
    constexpr std::size_t size = 28;
    out += "ARP";
    if (octets.size() < size || base::load_be16(octets.data() + 2) != wire::ether_type::ipv4) return;
    const Network network{Network::Family::ipv4};
    const auto host = [&](std::uint32_t at) { address(out, network, octets, at, options); };
    const unsigned operation = base::load_be16(octets.data() + 6);
    if (operation == 1) {
        out += ", Request who-has ";
        host(24);
        out += " tell ";
        host(14);
    } else if (operation == 2) {
        out += ", Reply ";
        host(14);
        out += " is-at ";
        base::append_ether(out, octets.subspan(8, 6));
    } else {
        out += ',';
        word(out, "operation", operation);
    }
    out += ", length 28";
}

}  // namespace

void other_frame(std::string& out, const wire::Frame& frame, const Dissection& dissection,
                 TcpSequences::Numbers numbers, const TextOptions& options) {
    const auto family = dissection.network.family;
    if (family == Network::Family::ipv4 || family == Network::Family::ipv6)
        return append_ip(out, dissection, frame.bytes, numbers, options);
    const auto header = view_of<wire::Ethernet>(dissection, LayerId::ethernet, frame.bytes);
    if (!header) {
        out += "link";
        word(out, "type", static_cast<std::uint64_t>(frame.link_type));
        out += ',';
        word(out, "length", frame.wire_length);
        return;
    }
    std::uint16_t type = header->get<&wire::Ethernet::type>();
    if (const auto tag = view_of<wire::Vlan>(dissection, LayerId::vlan, frame.bytes))
        type = tag->get<&wire::Vlan::type>();
    if (type == wire::ether_type::arp)
        return append_arp(out, frame.bytes.subspan(std::min<std::size_t>(link_length(dissection), frame.bytes.size())),
                          options);
    if (!options.link_header) {
        append_macs(out, *header);
        out += ", ";
    }
    append_type(out, type, options);
    out += ',';
    word(out, "length", frame.wire_length);
}

namespace {

/// A row's name as a reader writes it: `reth` is RETH, `cm_req` CM REQ, `rdmap_read_request` RDMAP read request.
void append_layer(std::string& out, LayerId id) {
    if (id == LayerId::none) {
        out += "frame";
        return;
    }
    constexpr std::size_t longest_abbreviation = 4;
    const std::string_view name = row_of(id).name;
    const std::size_t last = name.rfind('_');
    const bool words = last != std::string_view::npos && name.size() - last - 1 > longest_abbreviation;
    bool capitals = true;
    for (const char c : name) {
        if (c == '_') capitals = !words;
        out += c == '_' ? ' ' : capitals && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
}

void diagnostic(std::string& out, const Diagnostic& found) {
    ((out += " [") += name_of(found.outcome)) += ": ";
    const bool short_of_octets = found.reason == Reason::snapped || found.reason == Reason::too_short;
    if (short_of_octets) {
        append_layer(out, found.layer);
        word(out, "needs", found.needed);
        out += " bytes";
        word(out, "at", found.offset);
        out += ", ";
        base::append_decimal(out, found.available);
        out += found.reason == Reason::snapped ? " captured" : " there";
    } else {
        out += dissect::text(found.reason);
        if (found.layer != LayerId::none) {
            out += "; ";
            append_layer(out, found.layer);
            word(out, "at", found.offset);
        }
    }
    out += ']';
}

}  // namespace

void diagnostics(std::string& out, const Dissection& dissection, const TextOptions& options) {
    const Diagnostic& stop = dissection.stop;
    const bool only_data = stop.reason == Reason::snapped && is_after_headers(stop.layer);
    if (stop.outcome != Outcome::complete && (!only_data || options.verbosity > 0)) diagnostic(out, stop);
    if (dissection.odd_count == 0 || dissection.odd.reason == Reason::byte_swapped) return;
    diagnostic(out, dissection.odd);
}

void notice(std::string& out, const Notice& found) {
    const bool of_datagrams = found.kind == Notice::Kind::fragments_evicted;
    if (!of_datagrams) {
        out += "iWARP stream ";
        base::append_decimal(out, found.stream);
        out += ": ";
    }
    // A gap is measured in bytes. For a segment, what happened to it comes first and its size last.
    const bool measures = found.kind == Notice::Kind::stream_gap || found.kind == Notice::Kind::stream_skipped ||
                          found.kind == Notice::Kind::stream_unread;
    if (measures && found.octets != 0) {
        base::append_decimal(out, found.octets);
        out += ' ';
    }
    out += text_of(found.kind);
    if (found.related_frame != 0)
        word(out, found.kind == Notice::Kind::tcp_retransmission ? "of frame" : "since frame", found.related_frame);
    if (!measures && found.octets != 0) {
        out += " (";
        base::append_decimal(out, found.octets);
        out += " bytes)";
    }
}

}  // namespace dissect::output::text
