#include "wire/vxlan.h"

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/protocols.h"

namespace dissect::inline layers {

namespace {

using wire::Base;
using wire::Kind;
using wire::Vxlan;

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

}  // namespace dissect::layers
