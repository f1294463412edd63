#include "wire/avsp.h"

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/next.h"
#include "dissect/layers/protocols.h"

namespace dissect::inline layers {

namespace {

using wire::Avsp;
using wire::AvspTime48;
using wire::AvspTime64;
using wire::Kind;

/// Bytes of the header with its time stamp; 0 for a format that is not known.
std::uint32_t avsp_size(const Avsp& header) {
    if (header.sub_type != wire::avsp_time_stamp) return 0;
    if (wire::is_avsp_time64(header.version)) return octets_of<Avsp> + octets_of<AvspTime64>;
    if (wire::is_avsp_time48(header.version)) return octets_of<Avsp> + octets_of<AvspTime48>;
    return 0;
}

LayerId parse_avsp(Context& context) {
    const std::uint32_t start = context.offset;
    if (context.available() < octets_of<Avsp>) return context.stop_short(LayerId::avsp, octets_of<Avsp>);
    const std::uint32_t size = avsp_size(*wire::parse<Avsp>({context.at(start), octets_of<Avsp>}));
    const std::byte* p = context.take(LayerId::avsp, size == 0 ? octets_of<Avsp> : size);
    if (p == nullptr) return LayerId::none;
    if (size == 0) {
        context.leave_unread(wire::CarrierKind::ether_type, wire::ether_type::avsp);
        return context.stop_after(LayerId::avsp);
    }
    const LayerId next = after_type_or_length(context, base::load_be16(p + size - 2), LayerId::avsp);
    return next_or_last(context, next, LayerId::avsp);
}

constexpr wire::FieldInfo avsp_computed[] = {
    floating("avsp.64ts", "Time stamp"),
    {"avsp.64sec", "Seconds", 32, 32, Kind::uint32},
    {"avsp.64ns", "Nanoseconds", 64, 32, Kind::uint32},
    floating("avsp.48ts", "Time stamp"),
    {"avsp.48sec", "Seconds", 32, 16, Kind::uint16},
    {"avsp.48ns", "Nanoseconds", 48, 32, Kind::uint32},
    floating("avsp.etype", "Type", Kind::uint16, wire::Base::hex, wire::ether_type::names),
};

void describe_avsp(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    tree.fields<&Avsp::sub_type, &Avsp::version>();
    const std::uint32_t size = avsp_size(*wire::parse<Avsp>(tree.octets()));
    if (size == 0 || tree.size() < size) return;
    const bool wide = size == octets_of<Avsp> + octets_of<AvspTime64>;
    tree.open(wide ? pick(avsp_computed, "avsp.64ts") : pick(avsp_computed, "avsp.48ts"), octets_of<Avsp>,
              size - octets_of<Avsp> - 2);
    tree.field(wide ? pick(avsp_computed, "avsp.64sec") : pick(avsp_computed, "avsp.48sec"));
    tree.field(wide ? pick(avsp_computed, "avsp.64ns") : pick(avsp_computed, "avsp.48ns"));
    tree.close();
    tree.number(pick(avsp_computed, "avsp.etype"), base::load_be16(tree.at(size - 2)), size - 2, 2);
}

}  // namespace

constinit const LayerRow avsp_layer{"avsp",        &protocol::avsp,         {},           parse_avsp,
                                    describe_avsp, wire::field_table<Avsp>, avsp_computed};

}  // namespace dissect::layers
