#pragma once
#include "dissect/context.h"
#include "wire/ether_type.h"
#include "wire/ip_protocol.h"
#include "wire/nsh.h"

/// The layer that a number of a shared registry leads to. A protocol that cannot carry RDMA (ARP, LLDP) ends the
/// dissection without an error. A protocol that may carry RDMA and is not read is noted as unread.
namespace dissect::inline layers {

/// Note the number as unread, unless it is an ordinary one.
void note_ether_type(Context& context, std::uint16_t type);
void note_ip_protocol(Context& context, std::uint8_t protocol);

inline LayerId layer_of_ether_type(std::uint16_t type) {
    if (type == wire::ether_type::ipv4) [[likely]]
        return LayerId::ipv4;
    switch (type) {
        case wire::ether_type::ipv6: return LayerId::ipv6;
        case wire::ether_type::vlan:
        case wire::ether_type::qinq:
        case wire::ether_type::qinq_old: return LayerId::vlan;
        case wire::ether_type::roce: return LayerId::grh;
        case wire::ether_type::mpls:
        case wire::ether_type::mpls_multicast: return LayerId::mpls;
        case wire::ether_type::mac_control: return LayerId::mac_control;
        case wire::ether_type::teb: return LayerId::ethernet;
        case wire::ether_type::erspan3: return LayerId::erspan3;
        case wire::ether_type::avsp: return LayerId::avsp;
        case wire::ether_type::vntag: return LayerId::vntag;
        case wire::ether_type::etag: return LayerId::etag;
        case wire::ether_type::cisco_metadata: return LayerId::cisco_metadata;
        case wire::ether_type::macsec: return LayerId::macsec;
        case wire::ether_type::pppoe: return LayerId::pppoe;
        case wire::ether_type::nsh: return LayerId::nsh;
        default: return LayerId::none;
    }
}

inline LayerId after_ether_type(Context& context, std::uint16_t type) {
    const LayerId next = layer_of_ether_type(type);
    if (next == LayerId::none) [[unlikely]]
        note_ether_type(context, type);
    return next;
}

/// The next layer for an EtherType field that may be an 802.3 length. The field was read before.
inline LayerId after_type_or_length(Context& context, std::uint16_t type, LayerId layer) {
    if (type >= wire::ether_type::first_type) [[likely]]
        return after_ether_type(context, type);
    if (!context.end_at(context.offset + type))
        return context.stop(Outcome::malformed, Reason::bad_total_length, layer, context.offset - 2, type);
    return type == 0 ? LayerId::none : LayerId::llc;
}

inline LayerId after_ip_protocol(Context& context, std::uint8_t protocol) {
    if (protocol == wire::ip_protocol::udp) [[likely]]
        return LayerId::udp;
    switch (protocol) {
        case wire::ip_protocol::tcp: return LayerId::tcp;
        case wire::ip_protocol::ipv4: return LayerId::ipv4;
        case wire::ip_protocol::ipv6: return LayerId::ipv6;
        case wire::ip_protocol::gre: return LayerId::gre;
        case wire::ip_protocol::icmp: return LayerId::icmp;
        case wire::ip_protocol::icmpv6: return LayerId::icmpv6;
        case wire::ip_protocol::mpls: return LayerId::mpls;
        case wire::ip_protocol::auth: return LayerId::ipv6_auth;
        case wire::ip_protocol::ethernet: return LayerId::ethernet;
        case wire::ip_protocol::nsh: return LayerId::nsh;
        default: note_ip_protocol(context, protocol); return LayerId::none;
    }
}

/// The next layer after an IPv6 header or an IPv6 extension header.
inline LayerId after_next_header(Context& context, std::uint8_t protocol) {
    switch (protocol) {
        case wire::ip_protocol::hop_by_hop:
        case wire::ip_protocol::destination_options: return LayerId::ipv6_options;
        case wire::ip_protocol::routing: return LayerId::ipv6_routing;
        case wire::ip_protocol::fragment: return LayerId::ipv6_fragment;
        default: return after_ip_protocol(context, protocol);
    }
}

/// The next protocols that NSH and VXLAN-GPE share. RFC 8300, 9.1.6.
inline LayerId after_nsh_protocol(std::uint8_t protocol) {
    switch (protocol) {
        case wire::nsh_protocol::ipv4: return LayerId::ipv4;
        case wire::nsh_protocol::ipv6: return LayerId::ipv6;
        case wire::nsh_protocol::ethernet: return LayerId::ethernet;
        case wire::nsh_protocol::nsh: return LayerId::nsh;
        case wire::nsh_protocol::mpls: return LayerId::mpls;
        default: return LayerId::none;
    }
}

/// `next`; if absent, the end of the dissection.
inline LayerId next_or_last(Context& context, LayerId next, LayerId layer) {
    return next == LayerId::none ? context.stop_after(layer) : next;
}

/// Whether the UDP header at `context.offset`, as far as it was captured, has the length that the IP header gives it.
inline bool udp_length_agrees(const Context& context, std::uint8_t protocol, std::uint32_t position) {
    constexpr std::uint32_t length_at = 4;
    if (protocol != wire::ip_protocol::udp || context.available() < length_at + 2) return true;
    return context.offset + base::load_be16(context.at(context.offset + length_at)) == position;
}

/// Ends the enclosing layer's data where an IP header says. If the header says more than the frame has, either a mirror
/// or a tap has cut the packet, or the field is wrong: `consistent` says whether the headers agree with each other. A
/// field that exceeds what another header allows is also wrong if the frame has bytes after that. The bytes that are
/// there are read in any case.
inline void end_datagram(Context& context, std::uint32_t position, LayerId layer, std::uint32_t field_offset,
                         bool consistent) {
    if (context.cut_by_mirror() && position > context.captured()) [[unlikely]]
        context.out.cut_octets += position - context.captured();
    const std::uint32_t known_end = context.end;
    if (context.end_at(position)) [[likely]]
        return;
    consistent = consistent && known_end >= context.captured();
    if (!consistent) context.odd(Reason::bad_total_length, layer, field_offset);
    context.cut(consistent ? Reason::snapped : Reason::bad_total_length);
    context.end_at(position);
    if (consistent) context.out.cut_octets += position - known_end;
}

}  // namespace dissect::layers
