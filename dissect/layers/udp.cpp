#include "wire/udp.h"

#include "dissect/layer_table.h"
#include "dissect/layers/crc_status.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/next.h"
#include "dissect/layers/protocols.h"
#include "wire/udp_port.h"
#include "wire/vxlan.h"

namespace dissect::inline layers {

namespace {

using wire::Kind;
using wire::Udp;

/// Linux's old default port is not IANA's for VXLAN: the header must look like one.
LayerId after_old_vxlan_port(const Context& context) {
    if (context.available() < octets_of<wire::Vxlan>) return LayerId::none;
    const auto header = wire::View<wire::Vxlan>::unchecked(context.at(context.offset));
    const bool plausible = header.get<&wire::Vxlan::has_vni>() && header.get<&wire::Vxlan::reserved5>() == 0 &&
                           (base::load_be16(header.data()) & wire::vxlan_reserved_flags) == 0;
    return plausible ? LayerId::vxlan : LayerId::none;
}

LayerId after_port(Context& context, std::uint16_t port) {
    switch (port) {
        case wire::udp_port::vxlan: return LayerId::vxlan;
        case wire::udp_port::geneve: return LayerId::geneve;
        case wire::udp_port::gre: return LayerId::gre;
        case wire::udp_port::mpls: return LayerId::mpls;
        case wire::udp_port::vxlan_gpe: return LayerId::vxlan_gpe;
        case wire::udp_port::vxlan_old:
            if (after_old_vxlan_port(context) != LayerId::none) return LayerId::vxlan;
            context.leave_unread(wire::CarrierKind::udp_port, port);
            return context.stop_after(LayerId::udp);
        default:
            if (wire::is_unread_udp_port(port)) context.leave_unread(wire::CarrierKind::udp_port, port);
            return context.stop_after(LayerId::udp);
    }
}

LayerId parse_udp(Context& context) {
    const std::uint32_t start = context.offset;
    const std::byte* p = context.take(LayerId::udp, octets_of<Udp>);
    if (p == nullptr) return LayerId::none;
    const auto header = wire::View<Udp>::unchecked(p);
    context.out.source_port = header.get<&Udp::source_port>();
    context.out.destination_port = header.get<&Udp::destination_port>();

    // 0 in a jumbogram (RFC 2675, 4), or left to the network card to fill in.
    const std::uint32_t length = header.get<&Udp::length>();
    if (length < octets_of<Udp> && length != 0) [[unlikely]]
        return context.stop(Outcome::malformed, Reason::bad_header_length, LayerId::udp, start + 4, octets_of<Udp>);
    if (length != 0 && !context.end_at(start + length)) [[unlikely]]
        return context.stop(Outcome::malformed, Reason::bad_total_length, LayerId::udp, start + 4, length);
    if (context.out.destination_port == wire::udp_port::roce) [[likely]]
        return LayerId::bth;
    return after_port(context, context.out.destination_port);
}

constexpr wire::FieldInfo udp_computed[] = {
    hidden(floating("udp.port", "Source or destination port", Kind::uint16)),
    crc_status_field("udp.checksum.status", "Checksum status"),
    floating("udp.payload", "Payload", Kind::bytes),
};

/// 2 not verified, 3 not computed by the sender, 4 not computed though IPv6 wants it (RFC 8200, 8.1).
std::uint8_t checksum_status(const LayerView& view, std::uint16_t checksum) {
    if (checksum != 0) return 2;
    for (unsigned i = view.layer.depth; i-- > 0;) {
        if (view.dissection.layers[i].id == LayerId::ipv4) return 3;
        if (view.dissection.layers[i].id == LayerId::ipv6) return 4;
    }
    return 3;
}

void describe_udp(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    tree.fields<&Udp::source_port, &Udp::destination_port>();
    tree.number(pick(udp_computed, "udp.port"), base::load_be16(tree.at(0)), 0, 2);
    tree.number(pick(udp_computed, "udp.port"), base::load_be16(tree.at(2)), 2, 2);
    tree.field<&Udp::length>();
    const std::uint16_t checksum = base::load_be16(tree.at(6));
    // Wireshark has the status below a checksum that was not computed, and next to one that was.
    if (checksum == 0)
        tree.open(info_of<&Udp::checksum>());
    else
        tree.field<&Udp::checksum>();
    tree.number(pick(udp_computed, "udp.checksum.status"), checksum_status(view, checksum), 6, 2);
    if (checksum == 0) tree.close();
    const std::uint32_t length = base::load_be16(tree.at(4));
    const std::uint32_t begin = view.layer.offset + octets_of<Udp>;
    if (length <= octets_of<Udp> || begin >= view.bytes.size()) return;
    const Tree all{view.bytes, 0, visitor};
    all.octets(pick(udp_computed, "udp.payload"), begin,
               std::min<std::uint32_t>(length - octets_of<Udp>, all.size() - begin));
}

}  // namespace

constinit const LayerRow udp_layer{"udp",        &protocol::udp,         {},          parse_udp,
                                   describe_udp, wire::field_table<Udp>, udp_computed};

}  // namespace dissect::layers
