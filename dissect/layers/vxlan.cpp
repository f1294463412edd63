#include "wire/vxlan.h"

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/next.h"
#include "dissect/layers/protocols.h"
#include "wire/udp_port.h"
#include "wire/vxlan_gpe.h"

namespace dissect::inline layers {

namespace {

using wire::Base;
using wire::Kind;
using wire::Vxlan;
using wire::VxlanGpe;

LayerId parse_vxlan(Context& context) {
    return context.take(LayerId::vxlan, octets_of<Vxlan>) == nullptr ? LayerId::none : LayerId::ethernet;
}

constexpr wire::FieldInfo vxlan_computed[] = {
    {"vxlan.flags", "Flags", 0, 16, Kind::uint16, Base::hex},
    floating("vxlan.flags_reserved", "Reserved", Kind::uint16, Base::hex),
};

void describe_vxlan(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    tree.open(pick(vxlan_computed, "vxlan.flags"));
    tree.fields<&Vxlan::group_policy, &Vxlan::has_vni, &Vxlan::dont_learn, &Vxlan::policy_applied>();
    tree.number(pick(vxlan_computed, "vxlan.flags_reserved"), base::load_be16(tree.at(0)) & wire::vxlan_reserved_flags,
                0, 2);
    tree.close();
    tree.fields<&Vxlan::group, &Vxlan::vni, &Vxlan::reserved5>();
}

}  // namespace

constinit const LayerRow vxlan_layer{
    "vxlan", &protocol::vxlan, {}, parse_vxlan, describe_vxlan, wire::field_table<Vxlan>, vxlan_computed};

namespace {

LayerId after_gpe_protocol(Context& context, std::uint8_t protocol) {
    const LayerId next = after_nsh_protocol(protocol);
    if (next != LayerId::none) return next;
    context.leave_unread(wire::CarrierKind::vxlan_gpe_protocol, protocol);
    return context.stop_after(LayerId::vxlan_gpe);
}

LayerId parse_vxlan_gpe(Context& context) {
    const std::uint32_t start = context.offset;
    const std::byte* p = context.take(LayerId::vxlan_gpe, octets_of<VxlanGpe>);
    if (p == nullptr) return LayerId::none;
    const auto header = wire::View<VxlanGpe>::unchecked(p);
    if (header.get<&VxlanGpe::version>() != 0) {
        context.leave_unread(wire::CarrierKind::udp_port, wire::udp_port::vxlan_gpe);
        return context.stop(Outcome::unsupported, Reason::bad_version, LayerId::vxlan_gpe, start, 0);
    }
    if (!header.get<&VxlanGpe::has_protocol>()) return LayerId::ethernet;
    return after_gpe_protocol(context, header.get<&VxlanGpe::next_protocol>());
}

constexpr wire::FieldInfo vxlan_gpe_computed[] = {
    {"vxlan.flags", "Flags", 0, 8, Kind::uint8, Base::hex},
    floating("vxlan.flags_reserved", "Reserved", Kind::uint8),
};

void describe_vxlan_gpe(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    tree.open(pick(vxlan_gpe_computed, "vxlan.flags"));
    tree.fields<&VxlanGpe::version, &VxlanGpe::has_vni, &VxlanGpe::has_protocol, &VxlanGpe::oam>();
    tree.number(pick(vxlan_gpe_computed, "vxlan.flags_reserved"),
                base::load_u8(tree.at(0)) & wire::vxlan_gpe_reserved_flags, 0, 1);
    tree.close();
    tree.fields<&VxlanGpe::reserved3, &VxlanGpe::next_protocol, &VxlanGpe::vni, &VxlanGpe::reserved4>();
}

}  // namespace

constinit const LayerRow vxlan_gpe_layer{"vxlan",           &protocol::vxlan,   {},
                                         parse_vxlan_gpe,   describe_vxlan_gpe, wire::field_table<VxlanGpe>,
                                         vxlan_gpe_computed};

}  // namespace dissect::layers
