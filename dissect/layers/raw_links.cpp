// Link types that put next to nothing before a packet: raw IP, BSD loopback, IP over InfiniBand.
#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/next.h"
#include "dissect/layers/protocols.h"
#include "wire/ipoib.h"
#include "wire/null_loopback.h"

namespace dissect::inline layers {

namespace {

using wire::Base;
using wire::Ipoib;
using wire::Kind;
using wire::NullLoopback;

LayerId parse_raw(Context& context) {
    context.record(LayerId::raw_ip, context.offset, 0, 0);
    if (context.available() == 0) return context.stop_short(LayerId::raw_ip, 1);
    switch (base::load_u8(context.at(context.offset)) >> 4) {
        case 4: return LayerId::ipv4;
        case 6: return LayerId::ipv6;
        default: return context.stop(Outcome::unsupported, Reason::bad_version, LayerId::raw_ip, context.offset, 0);
    }
}

/// Some writers put an EtherType where the family belongs; no family is as large.
constexpr bool is_ether_type(std::uint32_t family) { return family > 1500 && family <= 0xffff; }

constexpr wire::FieldInfo null_computed[] = {floating("null.type", "Type", Kind::uint16, Base::hex)};

LayerId parse_null(Context& context) {
    const std::byte* p = context.take(LayerId::null_loopback, octets_of<NullLoopback>);
    if (p == nullptr) return LayerId::none;
    const std::uint32_t family = wire::in_any_order(base::load_be32(p));
    if (is_ether_type(family)) return after_ether_type(context, static_cast<std::uint16_t>(family));
    if (family == 2) return LayerId::ipv4;
    return wire::is_inet6(family) ? LayerId::ipv6 : LayerId::none;
}

void describe_null(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    const std::uint32_t family = wire::in_any_order(base::load_be32(tree.at(0)));
    tree.number(is_ether_type(family) ? null_computed[0] : info_of<&NullLoopback::family>(), family, 0, 4);
}

LayerId parse_ipoib(Context& context) {
    const std::byte* p = context.take(LayerId::ipoib, octets_of<Ipoib>);
    if (p == nullptr) return LayerId::none;
    return after_ether_type(context, wire::View<Ipoib>::unchecked(p).get<&Ipoib::type>());
}

constexpr wire::FieldInfo ipoib_computed[] = {
    floating("ipoib.grh", "Global Route Header"),
    {"ipoib.grh.ipver", "IP version", 0, 4, Kind::uint8},
    {"ipoib.grh.tclass", "Traffic class", 4, 8, Kind::uint16},
    {"ipoib.grh.flowlabel", "Flow label", 12, 20, Kind::uint32},
    {"ipoib.grh.sgid", "Source GID", 64, 128, Kind::ipv6},
    floating("ipoib.daddr", "Destination address"),
    {"ipoib.daddr.qpn", "Destination QPN", 168, 24, Kind::uint24, Base::hex},
    {"ipoib.dgid", "Destination GID", 192, 128, Kind::ipv6},
};

void describe_ipoib(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    if (base::load_be32(tree.at(0)) != 0) {
        tree.open(pick(ipoib_computed, "ipoib.grh"), 0, 40);
        tree.field(pick(ipoib_computed, "ipoib.grh.ipver"));
        tree.field(pick(ipoib_computed, "ipoib.grh.tclass"));
        tree.field(pick(ipoib_computed, "ipoib.grh.flowlabel"));
        tree.field(pick(ipoib_computed, "ipoib.grh.sgid"));
    } else {
        tree.open(pick(ipoib_computed, "ipoib.daddr"), 20, 20);
        tree.field(pick(ipoib_computed, "ipoib.daddr.qpn"));
    }
    tree.field(pick(ipoib_computed, "ipoib.dgid"));
    tree.close();
    tree.fields<&Ipoib::type, &Ipoib::reserved_field>();
}

}  // namespace

constinit const LayerRow raw_ip_layer{"raw", &protocol::raw, {}, parse_raw, nullptr, {}, {}};
constinit const LayerRow null_loopback_layer{"null",        &protocol::null_loopback,        {},           parse_null,
                                             describe_null, wire::field_table<NullLoopback>, null_computed};
constinit const LayerRow ipoib_layer{
    "ipoib", &protocol::ipoib, {}, parse_ipoib, describe_ipoib, wire::field_table<Ipoib>, ipoib_computed};

}  // namespace dissect::layers
