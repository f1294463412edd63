#include "wire/nsh.h"

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/next.h"
#include "dissect/layers/protocols.h"

namespace dissect::inline layers {

namespace {

using wire::Base;
using wire::Kind;
using wire::Nsh;
using wire::NshContext;

LayerId parse_nsh(Context& context) {
    const std::uint32_t start = context.offset;
    if (context.available() < octets_of<Nsh>) return context.stop_short(LayerId::nsh, octets_of<Nsh>);
    const auto header = wire::View<Nsh>::unchecked(context.at(start));
    const std::uint32_t size = header.get<&Nsh::words>() * 4u;
    if (header.get<&Nsh::version>() != 0) {
        context.leave_unread(wire::CarrierKind::ether_type, wire::ether_type::nsh);
        return context.stop(Outcome::unsupported, Reason::bad_version, LayerId::nsh, start, 0);
    }
    if (size < octets_of<Nsh>)
        return context.stop(Outcome::malformed, Reason::bad_header_length, LayerId::nsh, start, octets_of<Nsh>);
    if (context.take(LayerId::nsh, size) == nullptr) return LayerId::none;
    const std::uint8_t protocol = header.get<&Nsh::next_protocol>();
    const LayerId next = after_nsh_protocol(protocol);
    if (next != LayerId::none) return next;
    context.leave_unread(wire::CarrierKind::nsh_protocol, protocol);
    return context.stop_after(LayerId::nsh);
}

constexpr wire::FieldInfo nsh_computed[] = {
    floating("nsh.contextheader", "Context header", Kind::bytes),
    {"nsh.metadataclass", "Class", 0, 16, Kind::uint16},
    {"nsh.metadatatype", "Type", 16, 8, Kind::uint8},
    {"nsh.metadataunassignedbit", "Unassigned", 24, 1, Kind::uint8, Base::hex},
    {"nsh.metadatalen", "Length", 25, 7, Kind::uint8, Base::hex},
    floating("nsh.metadata", "Metadata", Kind::bytes),
};

/// Metadata type 1: four words whose meaning the network's operator knows. RFC 8300, 2.4.
void describe_words(const Tree& tree) {
    for (std::uint32_t at = octets_of<Nsh>; at + 4 <= tree.size(); at += 4)
        tree.octets(pick(nsh_computed, "nsh.contextheader"), at, 4);
}

/// Metadata type 2. RFC 8300, 2.5.1.
void describe_contexts(const Tree& tree) {
    for (std::uint32_t at = octets_of<Nsh>; at + octets_of<NshContext> <= tree.size();) {
        const std::uint32_t length = base::load_u8(tree.at(at + 3)) & 0x7fu;
        const Tree context = tree.part(at, octets_of<NshContext> + length);
        context.field(pick(nsh_computed, "nsh.metadataclass"));
        context.field(pick(nsh_computed, "nsh.metadatatype"));
        context.field(pick(nsh_computed, "nsh.metadataunassignedbit"));
        context.field(pick(nsh_computed, "nsh.metadatalen"));
        if (length != 0) context.octets(pick(nsh_computed, "nsh.metadata"), octets_of<NshContext>, length);
        at += octets_of<NshContext> + ((length + 3) & ~3u);
    }
}

void describe_nsh(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    tree.fields<&Nsh::version, &Nsh::oam, &Nsh::unassigned1, &Nsh::ttl, &Nsh::words, &Nsh::metadata_type,
                &Nsh::next_protocol, &Nsh::service_path, &Nsh::service_index>();
    const unsigned kind = base::load_u8(tree.at(2)) & 15;
    if (kind == 1) describe_words(tree);
    if (kind == 2) describe_contexts(tree);
}

}  // namespace

constinit const LayerRow nsh_layer{"nsh",        &protocol::nsh,         {},          parse_nsh,
                                   describe_nsh, wire::field_table<Nsh>, nsh_computed};

}  // namespace dissect::layers
