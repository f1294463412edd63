#include "wire/mac_control.h"

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/protocols.h"

namespace dissect::inline layers {

namespace {

using wire::Base;
using wire::Kind;

LayerId parse_mac_control(Context& context) {
    if (context.available() < 2) return context.stop_short(LayerId::mac_control, 2);
    std::uint32_t size = 2;
    switch (base::load_be16(context.at(context.offset))) {
        case wire::mac_control_opcode::pause: size = octets_of<wire::Pause>; break;
        case wire::mac_control_opcode::priority_pause: size = octets_of<wire::PriorityPause>; break;
        default: break;
    }
    context.take(LayerId::mac_control, size);
    return LayerId::none;
}

constexpr wire::FieldInfo mac_control_computed[] = {
    {"macc.pause_time", "Pause time", 16, 16, Kind::uint16},
    {"macc.cbfc.enbv", "Class enable vector", 16, 16, Kind::uint16, Base::hex},
};

void describe_mac_control(const LayerView& view, Visitor& visitor) {
    using P = wire::PriorityPause;
    const Tree tree{view, visitor};
    tree.field<&P::opcode>();
    if (tree.size() == octets_of<wire::Pause>) tree.field(pick(mac_control_computed, "macc.pause_time"));
    if (tree.size() != octets_of<P>) return;
    tree.open(pick(mac_control_computed, "macc.cbfc.enbv"));
    tree.fields<&P::enable0, &P::enable1, &P::enable2, &P::enable3, &P::enable4, &P::enable5, &P::enable6,
                &P::enable7>();
    tree.close();
    tree.fields<&P::quanta0, &P::quanta1, &P::quanta2, &P::quanta3, &P::quanta4, &P::quanta5, &P::quanta6,
                &P::quanta7>();
}

}  // namespace

constinit const LayerRow mac_control_layer{"macc",
                                           &protocol::mac_control,
                                           {},
                                           parse_mac_control,
                                           describe_mac_control,
                                           wire::field_table<wire::PriorityPause>,
                                           mac_control_computed};

}  // namespace dissect::layers
