#include "wire/gre.h"

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/next.h"
#include "dissect/layers/protocols.h"

namespace dissect::inline layers {

namespace {

using wire::Base;
using wire::Gre;
using wire::Kind;

LayerId after_gre_protocol(Context& context, const Gre& header) {
    // ERSPAN type I has no header of its own, and no sequence number tells it from type II.
    // draft-foschiano-erspan-03, 4.1.
    if (header.protocol == wire::ether_type::erspan2) {
        context.enter_mirror();
        return header.has_sequence ? LayerId::erspan2 : LayerId::ethernet;
    }
    return after_ether_type(context, header.protocol);
}

LayerId parse_gre(Context& context) {
    const std::uint32_t start = context.offset;
    if (context.available() < octets_of<Gre>) return context.stop_short(LayerId::gre, octets_of<Gre>);
    const Gre header = *wire::parse<Gre>({context.at(start), octets_of<Gre>});
    if (context.take(LayerId::gre, wire::gre_size(header)) == nullptr) return LayerId::none;
    // Version 1 carries PPP (RFC 2637); RFC 1701's source routes went out of use with RFC 2784.
    if (header.version != 0 || header.has_routing) {
        context.leave_unread(wire::CarrierKind::ip_protocol, wire::ip_protocol::gre);
        return context.stop(Outcome::unsupported, Reason::bad_version, LayerId::gre, start, 0);
    }
    return next_or_last(context, after_gre_protocol(context, header), LayerId::gre);
}

constexpr wire::FieldInfo gre_computed[] = {
    {"gre.flags_and_version", "Flags and version", 0, 16, Kind::uint16, Base::hex},
    floating("gre.checksum", "Checksum", Kind::uint16, Base::hex),
    floating("gre.offset", "Offset", Kind::uint16),
    floating("gre.key", "Key", Kind::uint32, Base::hex),
    floating("gre.sequence_number", "Sequence number", Kind::uint32),
};

void describe_gre(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    const Gre header = *wire::parse<Gre>(tree.octets());
    tree.open(pick(gre_computed, "gre.flags_and_version"));
    tree.fields<&Gre::has_checksum, &Gre::has_routing, &Gre::has_key, &Gre::has_sequence, &Gre::strict_source_route,
                &Gre::recursion, &Gre::reserved_flags, &Gre::version>();
    tree.close();
    tree.field<&Gre::protocol>();
    std::uint32_t at = octets_of<Gre>;
    if (header.has_checksum || header.has_routing) {
        tree.number(pick(gre_computed, "gre.checksum"), base::load_be16(tree.at(at)), at, 2);
        tree.number(pick(gre_computed, "gre.offset"), base::load_be16(tree.at(at + 2)), at + 2, 2);
        at += 4;
    }
    if (header.has_key) {
        tree.number(pick(gre_computed, "gre.key"), base::load_be32(tree.at(at)), at, 4);
        at += 4;
    }
    if (header.has_sequence)
        tree.number(pick(gre_computed, "gre.sequence_number"), base::load_be32(tree.at(at)), at, 4);
}

}  // namespace

constinit const LayerRow gre_layer{"gre",        &protocol::gre,         {},          parse_gre,
                                   describe_gre, wire::field_table<Gre>, gre_computed};

}  // namespace dissect::layers
