#include "wire/mpls.h"

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/next.h"
#include "dissect/layers/protocols.h"
#include "wire/ethernet.h"

namespace dissect::inline layers {

namespace {

/// Whether a frame with a type that rdmascope reads begins `skipped` bytes on.
bool looks_like_ethernet(const Context& context, std::uint32_t skipped) {
    if (context.available() < skipped + octets_of<wire::Ethernet>) return false;
    const std::uint16_t type = base::load_be16(context.at(context.offset + skipped + 12));
    return type == wire::ether_type::arp || layer_of_ether_type(type) != LayerId::none;
}

/// Nothing in a label stack says what follows it: IP shows its version, and a pseudowire is known by the frame inside,
/// after a control word that begins with a zero nibble (RFC 4385, 3) or without one.
LayerId after_stack(Context& context) {
    if (context.available() == 0) return context.stop_short(LayerId::mpls, 1);
    const unsigned nibble = base::load_u8(context.at(context.offset)) >> 4;
    if (nibble == 0 && looks_like_ethernet(context, wire::pseudowire_control_word_size)) {
        LayerRef& layer = context.out.layers[context.out.layer_count - 1u];
        layer.length += wire::pseudowire_control_word_size;
        layer.wire_length += wire::pseudowire_control_word_size;
        context.offset += wire::pseudowire_control_word_size;
        return LayerId::ethernet;
    }
    if (looks_like_ethernet(context, 0)) return LayerId::ethernet;
    if (nibble == 4) return LayerId::ipv4;
    if (nibble == 6) return LayerId::ipv6;
    constexpr std::uint32_t needed = wire::pseudowire_control_word_size + octets_of<wire::Ethernet>;
    if (context.available() < needed && context.remaining() > context.available())
        return context.stop_short(LayerId::mpls, std::min(needed, context.remaining()));
    // An associated channel is the network's own: it tests the path. RFC 4385, 5.
    constexpr unsigned associated_channel = 1;
    if (nibble != associated_channel) context.leave_unread(wire::CarrierKind::mpls, 0);
    return LayerId::none;
}

LayerId parse_mpls(Context& context) {
    const std::byte* p = context.take(LayerId::mpls, octets_of<wire::Mpls>);
    if (p == nullptr) return LayerId::none;
    if (!wire::View<wire::Mpls>::unchecked(p).get<&wire::Mpls::bottom>()) return LayerId::mpls;
    return next_or_last(context, after_stack(context), LayerId::mpls);
}

constexpr wire::FieldInfo mpls_computed[] = {
    {"rdma.mpls.control_word", "Pseudowire control word", 32, 32, wire::Kind::uint32, wire::Base::hex},
};

void describe_mpls(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    for (const auto& info : wire::field_table<wire::Mpls>) tree.field(info);
    tree.field(pick(mpls_computed, "rdma.mpls.control_word"));
}

}  // namespace

constinit const LayerRow mpls_layer{
    "mpls", &protocol::mpls, {}, parse_mpls, describe_mpls, wire::field_table<wire::Mpls>, mpls_computed};

}  // namespace dissect::layers
