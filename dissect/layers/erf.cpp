#include "wire/erf.h"

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/protocols.h"

namespace dissect::inline layers {

namespace {

using wire::Base;
using wire::Erf;
using wire::Kind;

/// Bytes between an Ethernet record's headers and its frame.
constexpr std::uint32_t ethernet_pad = 2;

/// A link packet: flow control between two ports. It carries nothing and has no LRH. IBA vol. 1, 7.9.4.
constexpr std::uint32_t link_packet_octets = 6;

LayerId after_type(std::uint8_t type) {
    if (wire::is_erf_ethernet(type)) return LayerId::ethernet;
    switch (type) {
        case wire::erf_type::infiniband: return LayerId::lrh;
        case wire::erf_type::ipv4: return LayerId::ipv4;
        case wire::erf_type::ipv6: return LayerId::ipv6;
        default: return LayerId::none;
    }
}

/// Shown as part of the record: nothing else belongs to it.
LayerId parse_link_packet(Context& context, LayerRef& layer) {
    if (context.available() < link_packet_octets) return context.stop_short(LayerId::erf, link_packet_octets);
    context.offset += link_packet_octets;
    layer.length = layer.wire_length = context.offset - layer.offset;
    return LayerId::none;
}

LayerId parse_erf(Context& context) {
    const std::uint32_t start = context.offset;
    const std::byte* p = context.take(LayerId::erf, octets_of<Erf>);
    if (p == nullptr) return LayerId::none;
    const auto header = wire::View<Erf>::unchecked(p);
    for (bool more = header.get<&Erf::has_extension>(); more;) {
        if (context.available() < wire::erf_extension_size)
            return context.stop_short(LayerId::erf, wire::erf_extension_size);
        more = base::load_u8(context.at(context.offset)) >> 7 != 0;
        context.offset += wire::erf_extension_size;
    }
    const std::uint8_t type = header.get<&Erf::type>();
    if (wire::is_erf_ethernet(type)) {
        if (context.available() < ethernet_pad) return context.stop_short(LayerId::erf, ethernet_pad);
        context.offset += ethernet_pad;
    }
    LayerRef& layer = context.out.layers[context.out.layer_count - 1u];
    layer.length = layer.wire_length = context.offset - start;

    if (type == wire::erf_type::infiniband_link) return parse_link_packet(context, layer);

    // The record knows how long the packet was; the file's own length also counts the record's padding.
    context.end = context.offset + header.get<&Erf::wire_length>();
    const LayerId next = after_type(type);
    if (next != LayerId::none) return next;
    if (wire::is_erf_metadata(type)) return context.stop_after(LayerId::erf);
    context.leave_unread(wire::CarrierKind::erf_type, type);
    return context.stop(Outcome::unsupported, Reason::unknown_link_type, LayerId::erf, start + 8, 0);
}

constexpr wire::ValueName link_operands[] = {{0, "Normal Flow Control"}, {1, "Flow Control Init"}};

constexpr wire::FieldInfo erf_computed[] = {
    floating("erf.ts", "Timestamp", Kind::uint64, Base::hex),
    {"erf.types", "Record type", 64, 8, Kind::uint8, Base::hex},
    {"erf.flags", "Flags", 72, 8, Kind::uint8, Base::hex},
    floating("erf.ehdr.types", "Extension header", Kind::uint8),
    floating("rdma.erf.extension", "Data", Kind::uint64, Base::hex),
    floating("infiniband_link", "InfiniBand Link"),
    floating("infiniband_link.op", "Operand", Kind::uint16, Base::dec, link_operands),
    floating("infiniband_link.fctbs", "Flow Control Total Blocks Sent", Kind::uint16),
    floating("infiniband_link.vl", "Virtual Lane", Kind::uint16),
    floating("infiniband_link.fccl", "Flow Control Credit Limit", Kind::uint16),
    floating("infiniband_link.lpcrc", "Link Packet CRC", Kind::uint16, Base::hex),
    floating("erf.eth", "Ethernet pad"),
    floating("erf.eth.off", "Offset", Kind::uint8),
    floating("erf.eth.pad", "Padding", Kind::uint8, Base::hex),
};

/// Seven bytes of content: what they mean depends on the type, and nothing in them concerns RDMA.
std::uint32_t describe_extensions(const Tree& tree) {
    std::uint32_t at = octets_of<Erf>;
    for (bool more = (base::load_u8(tree.at(8)) & 0x80) != 0; more && at + wire::erf_extension_size <= tree.size();) {
        const std::uint64_t extension = base::load_be64(tree.at(at));
        more = extension >> 63 != 0;
        tree.number(pick(erf_computed, "erf.ehdr.types"), extension >> 56 & 0x7f, at, 1);
        tree.number(pick(erf_computed, "rdma.erf.extension"), extension & 0xffffffffffffff, at + 1, 7);
        at += wire::erf_extension_size;
    }
    return at;
}

void describe_link_packet(const Tree& tree, std::uint32_t at) {
    if (at + link_packet_octets > tree.size()) return;
    const std::uint32_t sent = base::load_be16(tree.at(at));
    const std::uint32_t limit = base::load_be16(tree.at(at + 2));
    tree.open(pick(erf_computed, "infiniband_link"), at, link_packet_octets);
    tree.number(pick(erf_computed, "infiniband_link.op"), sent >> 12, at, 2);
    tree.number(pick(erf_computed, "infiniband_link.fctbs"), sent & 0xfff, at, 2);
    tree.number(pick(erf_computed, "infiniband_link.vl"), limit >> 12, at + 2, 2);
    tree.number(pick(erf_computed, "infiniband_link.fccl"), limit & 0xfff, at + 2, 2);
    tree.number(pick(erf_computed, "infiniband_link.lpcrc"), base::load_be16(tree.at(at + 4)), at + 4, 2);
    tree.close();
}

void describe_erf(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    tree.number(pick(erf_computed, "erf.ts"), wire::erf_timestamp(tree.at(0)), 0, 8);
    tree.open(pick(erf_computed, "erf.types"));
    tree.fields<&Erf::type, &Erf::has_extension>();
    tree.close();
    tree.open(pick(erf_computed, "erf.flags"));
    tree.fields<&Erf::capture_interface, &Erf::varying_length, &Erf::truncated, &Erf::receive_error,
                &Erf::direction_error, &Erf::reserved_flags>();
    tree.close();
    tree.fields<&Erf::record_length, &Erf::loss_counter, &Erf::wire_length>();
    const std::uint32_t at = describe_extensions(tree);
    if ((base::load_u8(tree.at(8)) & 0x7f) == wire::erf_type::infiniband_link) return describe_link_packet(tree, at);
    if (at + ethernet_pad > tree.size()) return;
    tree.open(pick(erf_computed, "erf.eth"), at, ethernet_pad);
    tree.number(pick(erf_computed, "erf.eth.off"), base::load_u8(tree.at(at)), at, 1);
    tree.number(pick(erf_computed, "erf.eth.pad"), base::load_u8(tree.at(at + 1)), at + 1, 1);
    tree.close();
}

}  // namespace

constinit const LayerRow erf_layer{"erf",        &protocol::erf,         {},          parse_erf,
                                   describe_erf, wire::field_table<Erf>, erf_computed};

}  // namespace dissect::layers
