#include "wire/geneve.h"

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/next.h"
#include "dissect/layers/protocols.h"

namespace dissect::inline layers {

namespace {

using wire::Base;
using wire::Geneve;
using wire::GeneveOption;
using wire::Kind;

LayerId parse_geneve(Context& context) {
    const std::uint32_t start = context.offset;
    if (context.available() < octets_of<Geneve>) return context.stop_short(LayerId::geneve, octets_of<Geneve>);
    const auto header = wire::View<Geneve>::unchecked(context.at(start));
    const std::uint32_t size = octets_of<Geneve> + header.get<&Geneve::option_words>() * 4u;
    if (context.take(LayerId::geneve, size) == nullptr) return LayerId::none;
    if (header.get<&Geneve::version>() != 0)
        return context.stop(Outcome::unsupported, Reason::bad_version, LayerId::geneve, start, 0);
    return next_or_last(context, after_ether_type(context, header.get<&Geneve::protocol>()), LayerId::geneve);
}

constexpr wire::FieldInfo geneve_computed[] = {
    {"geneve.flags", "Flags", 8, 8, Kind::uint8, Base::hex},
    floating("geneve.options", "Options", Kind::bytes),
    floating("geneve.option", "Option", Kind::bytes),
    {"geneve.option.class", "Class", 0, 16, Kind::uint16, Base::hex},
    {"geneve.option.type", "Type", 16, 8, Kind::uint8, Base::hex},
    {"geneve.option.type.critical", "Critical option", 16, 1, Kind::boolean},
    floating("geneve.option.flags", "Flags", Kind::uint8, Base::hex),
    {"geneve.option.flags.reserved", "Reserved", 24, 3, Kind::boolean},
    floating("geneve.option.length", "Length in bytes", Kind::uint8),
    floating("geneve.option.unknown.data", "Data", Kind::bytes),
};

void describe_geneve_option(const Tree& option) {
    option.open(pick(geneve_computed, "geneve.option"), 0, option.size());
    option.field(pick(geneve_computed, "geneve.option.class"));
    option.field(pick(geneve_computed, "geneve.option.type"));
    option.field(pick(geneve_computed, "geneve.option.type.critical"));
    option.number(pick(geneve_computed, "geneve.option.flags"), base::load_u8(option.at(3)) >> 5, 3, 1);
    option.field(pick(geneve_computed, "geneve.option.flags.reserved"));
    option.number(pick(geneve_computed, "geneve.option.length"), option.size(), 3, 1);
    if (option.size() > octets_of<GeneveOption>)
        option.octets(pick(geneve_computed, "geneve.option.unknown.data"), octets_of<GeneveOption>,
                      option.size() - octets_of<GeneveOption>);
    option.close();
}

void describe_geneve(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    const std::uint32_t option_octets = tree.size() - octets_of<Geneve>;
    tree.field<&Geneve::version>();
    tree.number(pick(geneve_computed, "geneve.option.length"), option_octets, 0, 1);
    tree.open(pick(geneve_computed, "geneve.flags"));
    tree.fields<&Geneve::control, &Geneve::critical, &Geneve::reserved_flags>();
    tree.close();
    tree.fields<&Geneve::protocol, &Geneve::vni, &Geneve::reserved_octet>();
    if (option_octets == 0) return;
    tree.open(pick(geneve_computed, "geneve.options"), octets_of<Geneve>, option_octets);
    for (std::uint32_t at = octets_of<Geneve>; at + octets_of<GeneveOption> <= tree.size();) {
        const std::uint32_t size = octets_of<GeneveOption> + (base::load_u8(tree.at(at + 3)) & 31u) * 4;
        if (at + size > tree.size()) break;
        describe_geneve_option(tree.part(at, size));
        at += size;
    }
    tree.close();
}

}  // namespace

constinit const LayerRow geneve_layer{
    "geneve", &protocol::geneve, {}, parse_geneve, describe_geneve, wire::field_table<Geneve>, geneve_computed};

}  // namespace dissect::layers
