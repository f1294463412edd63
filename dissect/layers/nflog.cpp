#include "wire/nflog.h"

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/next.h"
#include "dissect/layers/protocols.h"
#include "wire/ppi.h"

namespace dissect::inline layers {

namespace {

using wire::Base;
using wire::Kind;
using wire::Nflog;

/// Variants of the layer: the byte order of the attributes' heads.
constexpr std::uint8_t little_endian = 0;
constexpr std::uint8_t big_endian = 1;

constexpr std::uint32_t attribute_head = wire::nflog_attribute_head;

struct Attribute {
    std::uint32_t length = 0;  ///< with its head, without padding
    std::uint16_t type = 0;
};

Attribute attribute_at(const std::byte* p, std::uint8_t order) {
    const std::uint16_t length = order == big_endian ? base::load_be16(p) : wire::load_le16(p);
    const std::uint16_t type = order == big_endian ? base::load_be16(p + 2) : wire::load_le16(p + 2);
    return {length, static_cast<std::uint16_t>(type & wire::nflog_type_mask)};
}

/// The order in which the first attribute fits; little-endian if both do.
std::uint8_t order_of(const std::byte* first, std::uint32_t remaining) {
    const std::uint32_t length = wire::load_le16(first);
    return length >= attribute_head && length <= remaining ? little_endian : big_endian;
}

LayerId after_family(Context& context, std::uint8_t family, std::uint16_t ether_type) {
    constexpr std::uint8_t inet = 2;
    constexpr std::uint8_t inet6 = 10;
    if (family == inet) return LayerId::ipv4;
    if (family == inet6) return LayerId::ipv6;
    if (ether_type != 0) return after_ether_type(context, ether_type);
    context.leave_unread(wire::CarrierKind::nflog_family, family);
    return LayerId::none;
}

/// Steps over the attributes to the packet, which is one of them. Others may follow it.
LayerId parse_nflog(Context& context) {
    const std::uint32_t start = context.offset;
    const std::byte* head = context.take(LayerId::nflog, octets_of<Nflog>);
    if (head == nullptr) return LayerId::none;
    LayerRef& layer = context.out.layers[context.out.layer_count - 1u];
    const std::uint8_t family = base::load_u8(head);
    std::uint16_t ether_type = 0;
    while (context.remaining() > 0) {
        if (context.available() < attribute_head) return context.stop_short(LayerId::nflog, attribute_head);
        const std::byte* p = context.at(context.offset);
        if (context.offset == start + octets_of<Nflog>) layer.variant = order_of(p, context.remaining());
        const Attribute attribute = attribute_at(p, layer.variant);
        if (attribute.length < attribute_head || attribute.length > context.remaining())
            return context.stop(Outcome::malformed, Reason::bad_total_length, LayerId::nflog, context.offset,
                                attribute.length);
        const std::uint32_t end = context.offset + attribute.length;
        if (attribute.type == wire::nflog_attribute::payload) {
            context.offset += attribute_head;
            layer.length = layer.wire_length = context.offset - start;
            context.end_at(end);
            return next_or_last(context, after_family(context, family, ether_type), LayerId::nflog);
        }
        const std::uint32_t padded = std::min(wire::nflog_padded(attribute.length), context.remaining());
        if (context.available() < padded) return context.stop_short(LayerId::nflog, padded);
        if (attribute.type == wire::nflog_attribute::packet_header && attribute.length >= attribute_head + 2)
            ether_type = base::load_be16(p + attribute_head);
        context.offset += padded;
        layer.length = layer.wire_length = context.offset - start;
    }
    return context.stop_after(LayerId::nflog);
}

constexpr wire::FieldInfo nflog_computed[] = {
    floating("nflog.tlv", "Attribute", Kind::bytes),
    floating("nflog.tlv_length", "Length", Kind::uint16),
    floating("nflog.tlv_type", "Type", Kind::uint16),
    floating("nflog.protocol", "Protocol", Kind::uint16, Base::hex, wire::ether_type::names),
    floating("nflog.hook", "Netfilter hook", Kind::uint8),
    floating("nflog.ifindex_indev", "Interface in", Kind::uint32),
    floating("nflog.ifindex_outdev", "Interface out", Kind::uint32),
    floating("nflog.ifindex_physindev", "Bridge port in", Kind::uint32),
    floating("nflog.ifindex_physoutdev", "Bridge port out", Kind::uint32),
    floating("nflog.prefix", "Prefix", Kind::string),
    floating("nflog.uid", "User", Kind::uint32),
    floating("nflog.gid", "Group", Kind::uint32),
};

/// The field of an attribute that is a number of four bytes; nullptr for the others.
const wire::FieldInfo* number_of(std::uint16_t type) {
    switch (type) {
        case wire::nflog_attribute::in_device: return &pick(nflog_computed, "nflog.ifindex_indev");
        case wire::nflog_attribute::out_device: return &pick(nflog_computed, "nflog.ifindex_outdev");
        case wire::nflog_attribute::in_port: return &pick(nflog_computed, "nflog.ifindex_physindev");
        case wire::nflog_attribute::out_port: return &pick(nflog_computed, "nflog.ifindex_physoutdev");
        case wire::nflog_attribute::user: return &pick(nflog_computed, "nflog.uid");
        case wire::nflog_attribute::group: return &pick(nflog_computed, "nflog.gid");
        default: return nullptr;
    }
}

void describe_prefix(const Tree& attribute) {
    const std::string_view all(reinterpret_cast<const char*>(attribute.at(attribute_head)),  // NOLINT: its text
                               attribute.size() - attribute_head);
    attribute.text(pick(nflog_computed, "nflog.prefix"), all.substr(0, all.find('\0')), attribute_head,
                   attribute.size() - attribute_head);
}

void describe_attribute(const Tree& attribute, std::uint16_t type) {
    attribute.open(pick(nflog_computed, "nflog.tlv"), 0, attribute.size());
    attribute.number(pick(nflog_computed, "nflog.tlv_length"), attribute.size(), 0, 2);
    attribute.number(pick(nflog_computed, "nflog.tlv_type"), type, 2, 2);
    const std::uint32_t value = attribute.size() - attribute_head;
    if (const wire::FieldInfo* const number = number_of(type); number != nullptr && value >= 4) {
        attribute.number(*number, base::load_be32(attribute.at(attribute_head)), attribute_head, 4);
    } else if (type == wire::nflog_attribute::packet_header && value >= 3) {
        attribute.number(pick(nflog_computed, "nflog.protocol"), base::load_be16(attribute.at(attribute_head)),
                         attribute_head, 2);
        attribute.number(pick(nflog_computed, "nflog.hook"), base::load_u8(attribute.at(attribute_head + 2)),
                         attribute_head + 2, 1);
    } else if (type == wire::nflog_attribute::prefix && value > 0) {
        describe_prefix(attribute);
    }
    attribute.close();
}

/// All attributes, those after the packet too.
void describe_nflog(const LayerView& view, Visitor& visitor) {
    const Tree tree{view.bytes.subspan(view.layer.offset), view.layer.offset, visitor};
    tree.fields<&Nflog::family, &Nflog::version, &Nflog::resource>();
    for (std::uint32_t at = octets_of<Nflog>; at + attribute_head <= tree.size();) {
        const Attribute attribute = attribute_at(tree.at(at), view.layer.variant);
        if (attribute.length < attribute_head || attribute.length > tree.size() - at) break;
        describe_attribute(tree.part(at, attribute.length), attribute.type);
        at += wire::nflog_padded(attribute.length);
    }
}

}  // namespace

constinit const LayerRow nflog_layer{
    "nflog", &protocol::nflog, {}, parse_nflog, describe_nflog, wire::field_table<Nflog>, nflog_computed};

}  // namespace dissect::layers
