#include "wire/ipoib_packet.h"

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/next.h"
#include "dissect/layers/protocols.h"

namespace dissect::inline layers {
namespace {

using wire::Base;
using wire::IpoibArp;
using wire::IpoibHeader;
using wire::Kind;

LayerId parse_ipoib_packet(Context& context) {
    const std::byte* p = context.take(LayerId::ipoib_packet, octets_of<IpoibHeader>);
    if (p == nullptr) return LayerId::none;
    const std::uint16_t type = wire::View<IpoibHeader>::unchecked(p).get<&IpoibHeader::type>();
    if (type == wire::ether_type::arp || type == wire::ipoib_rarp) return LayerId::ipoib_arp;
    return after_ether_type(context, type);
}

/// Other hardware than InfiniBand's, and other addresses than those of IPv4, have other places.
LayerId parse_ipoib_arp(Context& context) {
    context.take(LayerId::ipoib_arp, octets_of<IpoibArp>);
    return LayerId::none;
}

constexpr wire::FieldInfo arp_computed[] = {
    {"rdma.ipoib.sender.connected", "Sender takes connections", 64, 1, Kind::boolean},
    {"rdma.ipoib.sender.qpn", "Sender QPN", 72, 24, Kind::uint24, Base::hex},
    {"rdma.ipoib.sender.gid", "Sender GID", 96, 128, Kind::ipv6},
    {"rdma.ipoib.target.connected", "Target takes connections", 256, 1, Kind::boolean},
    {"rdma.ipoib.target.qpn", "Target QPN", 264, 24, Kind::uint24, Base::hex},
    {"rdma.ipoib.target.gid", "Target GID", 288, 128, Kind::ipv6},
};

void describe_ipoib_arp(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    describe_fields(wire::field_table<IpoibArp>, view.octets(), view.layer.offset, visitor);
    for (const wire::FieldInfo& info : arp_computed) tree.field(info);
}

constexpr wire::FieldInfo ipoib_connect_fields[] = {
    {"rdma.ipoib.cm.qpn", "Queue pair of the interface", 8, 24, Kind::uint24, Base::hex},
    {"rdma.ipoib.cm.mtu", "Longest packet that is received", 32, 32, Kind::uint32},
};

LayerId parse_ipoib_connect(Context& context) {
    constexpr std::uint32_t size = 8;
    context.take(LayerId::ipoib_connect, size);
    return LayerId::none;
}

}  // namespace

constinit const LayerRow ipoib_packet_layer{
    "ipoib", &protocol::ipoib, {}, parse_ipoib_packet, nullptr, wire::field_table<IpoibHeader>};
constinit const LayerRow ipoib_arp_layer{
    "arp", &protocol::arp, {}, parse_ipoib_arp, describe_ipoib_arp, wire::field_table<IpoibArp>, arp_computed};
constinit const LayerRow ipoib_connect_layer{"ipoib_connect",     &protocol::ipoib, {},
                                             parse_ipoib_connect, nullptr,          ipoib_connect_fields};

}  // namespace dissect::layers
