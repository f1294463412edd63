#include "wire/erspan.h"

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/next.h"
#include "dissect/layers/protocols.h"

namespace dissect::inline layers {

namespace {

using wire::Base;
using wire::Erspan2;
using wire::Erspan3;
using wire::Kind;

LayerId parse_erspan2(Context& context) {
    const std::uint32_t start = context.offset;
    const std::byte* p = context.take(LayerId::erspan2, octets_of<Erspan2>);
    if (p == nullptr) return LayerId::none;
    context.enter_mirror();
    const auto header = wire::View<Erspan2>::unchecked(p);
    if (header.get<&Erspan2::version>() != 1)
        return context.stop(Outcome::unsupported, Reason::bad_version, LayerId::erspan2, start, 0);
    if (header.get<&Erspan2::truncated>()) context.cut(Reason::snapped);
    return LayerId::ethernet;
}

LayerId parse_erspan3(Context& context) {
    const std::uint32_t start = context.offset;
    if (context.available() < octets_of<Erspan3>) return context.stop_short(LayerId::erspan3, octets_of<Erspan3>);
    const auto header = wire::View<Erspan3>::unchecked(context.at(start));
    const std::uint32_t subheader = header.get<&Erspan3::has_subheader>() ? wire::erspan3_subheader_size : 0;
    if (context.take(LayerId::erspan3, octets_of<Erspan3> + subheader) == nullptr) return LayerId::none;
    context.enter_mirror();
    if (header.get<&Erspan3::version>() != 2)
        return context.stop(Outcome::unsupported, Reason::bad_version, LayerId::erspan3, start, 0);
    if (header.get<&Erspan3::truncated>()) context.cut(Reason::snapped);
    if (header.get<&Erspan3::frame_type>() == 0) return LayerId::ethernet;
    return header.get<&Erspan3::frame_type>() == 2 ? LayerId::raw_ip : LayerId::none;
}

void describe_erspan2(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    for (const auto& info : wire::field_table<Erspan2>) tree.field(info);
}

constexpr wire::FieldInfo erspan_computed[] = {
    {"erspan.platid", "Platform", 96, 6, Kind::uint32},
    {"erspan.pid1.rsvd1", "Reserved", 102, 14, Kind::uint32},
    {"erspan.pid1.vsmid", "VSM domain", 116, 12, Kind::uint32},
    {"erspan.pid1.port_index", "Port index", 128, 32, Kind::uint32},
    {"erspan.pid3.rsvd1", "Reserved", 102, 12, Kind::uint32},
    {"erspan.pid3.port_index", "Port index", 114, 14, Kind::uint32},
    {"erspan.pid3.timestamp", "Timestamp, upper half", 128, 32, Kind::uint32},
    {"erspan.pid4.rsvd1", "Reserved", 102, 12, Kind::uint32},
    {"erspan.pid4.rsvd2", "Reserved", 114, 14, Kind::uint32},
    {"erspan.pid4.rsvd3", "Reserved", 128, 32, Kind::uint32},
    {"erspan.pid5.switchid", "Switch", 102, 10, Kind::uint32},
    {"erspan.pid5.port_index", "Port index", 112, 16, Kind::uint32},
    {"erspan.pid5.timestamp", "Timestamp (seconds)", 128, 32, Kind::uint32},
    {"erspan.pid7.rsvd1", "Reserved", 102, 6, Kind::uint32},
    {"erspan.pid7.source_index", "Source index", 108, 20, Kind::uint32},
    {"erspan.pid7.timestamp", "Timestamp, upper half", 128, 32, Kind::uint32},
    {"erspan.pid.rsvd", "Reserved", 102, 58, Kind::uint64},
};

void describe_subheader(const Tree& tree) {
    tree.field(pick(erspan_computed, "erspan.platid"));
    const unsigned platform = base::load_u8(tree.at(octets_of<Erspan3>)) >> 2;
    const auto show = [&](const auto&... info) { (tree.field(info), ...); };
    switch (platform) {
        case 1:
            return show(pick(erspan_computed, "erspan.pid1.rsvd1"), pick(erspan_computed, "erspan.pid1.vsmid"),
                        pick(erspan_computed, "erspan.pid1.port_index"));
        case 3:
            return show(pick(erspan_computed, "erspan.pid3.rsvd1"), pick(erspan_computed, "erspan.pid3.port_index"),
                        pick(erspan_computed, "erspan.pid3.timestamp"));
        case 4:
            return show(pick(erspan_computed, "erspan.pid4.rsvd1"), pick(erspan_computed, "erspan.pid4.rsvd2"),
                        pick(erspan_computed, "erspan.pid4.rsvd3"));
        case 5:
        case 6:
            return show(pick(erspan_computed, "erspan.pid5.switchid"), pick(erspan_computed, "erspan.pid5.port_index"),
                        pick(erspan_computed, "erspan.pid5.timestamp"));
        case 7:
            return show(pick(erspan_computed, "erspan.pid7.rsvd1"), pick(erspan_computed, "erspan.pid7.source_index"),
                        pick(erspan_computed, "erspan.pid7.timestamp"));
        default: return show(pick(erspan_computed, "erspan.pid.rsvd"));
    }
}

void describe_erspan3(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    for (const auto& info : wire::field_table<Erspan3>) tree.field(info);
    if (tree.size() > octets_of<Erspan3>) describe_subheader(tree);
}

}  // namespace

constinit const LayerRow erspan2_layer{"erspan",         &protocol::erspan,          {}, parse_erspan2,
                                       describe_erspan2, wire::field_table<Erspan2>, {}};
constinit const LayerRow erspan3_layer{
    "erspan", &protocol::erspan, {}, parse_erspan3, describe_erspan3, wire::field_table<Erspan3>, erspan_computed};

}  // namespace dissect::layers
