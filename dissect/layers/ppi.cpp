#include "wire/ppi.h"

#include "dissect/dissector.h"
#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/protocols.h"

namespace dissect::inline layers {

namespace {

using wire::Base;
using wire::Kind;

/// PPI carries libpcap's DLT_ number, which for raw IP is not the file's LINKTYPE_: 12, on OpenBSD 14.
LayerId after_link_type(std::uint32_t link_type) {
    if (link_type == 12 || link_type == 14) return LayerId::raw_ip;
    return link_type > 0xffff ? LayerId::none : first_layer(static_cast<wire::LinkType>(link_type));
}

LayerId parse_ppi(Context& context) {
    const std::uint32_t start = context.offset;
    if (context.available() < wire::Ppi::size) return context.stop_short(LayerId::ppi, wire::Ppi::size);
    const wire::Ppi header = wire::parse_ppi(context.at(start));
    if (header.length < wire::Ppi::size)
        return context.stop(Outcome::malformed, Reason::bad_header_length, LayerId::ppi, start + 2, wire::Ppi::size);
    if (context.take(LayerId::ppi, header.length) == nullptr) return LayerId::none;
    const LayerId next = after_link_type(header.link_type);
    if (next != LayerId::none) return next;
    context.leave_unread(wire::CarrierKind::link_type, static_cast<std::uint16_t>(header.link_type));
    return context.stop(Outcome::unsupported, Reason::unknown_link_type, LayerId::ppi, start + 4, 0);
}

constexpr wire::FieldInfo ppi_computed[] = {
    {"ppi.version", "Version", 0, 8, Kind::uint8},
    {"ppi.flags", "Flags", 8, 8, Kind::uint8, Base::hex},
    {"ppi.flags.alignment", "Alignment", 15, 1, Kind::boolean},
    {"ppi.flags.reserved", "Reserved", 8, 7, Kind::uint8, Base::hex},
    floating("ppi.length", "Header length", Kind::uint16),
    floating("ppi.dlt", "Link type", Kind::uint32),
};

void describe_ppi(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    tree.field(pick(ppi_computed, "ppi.version"));
    tree.open(pick(ppi_computed, "ppi.flags"));
    tree.field(pick(ppi_computed, "ppi.flags.alignment"));
    tree.field(pick(ppi_computed, "ppi.flags.reserved"));
    tree.close();
    const wire::Ppi header = wire::parse_ppi(tree.at(0));
    tree.number(pick(ppi_computed, "ppi.length"), header.length, 2, 2);
    tree.number(pick(ppi_computed, "ppi.dlt"), header.link_type, 4, 4);
}

}  // namespace

constinit const LayerRow ppi_layer{"ppi", &protocol::ppi, {}, parse_ppi, describe_ppi, {}, ppi_computed};

}  // namespace dissect::layers
