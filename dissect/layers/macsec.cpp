#include "wire/macsec.h"

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/next.h"
#include "dissect/layers/protocols.h"
#include "dissect/packet_end.h"

namespace dissect::inline layers {

namespace {

using wire::Base;
using wire::Kind;
using wire::MacSec;

/// Variants of the layer.
constexpr std::uint8_t frame_is_cut = 1;  ///< where the integrity check value was captured is unknown

/// Bytes of the SecTAG.
std::uint32_t tag_size(const MacSec& header) {
    return octets_of<MacSec> + (header.has_channel ? wire::macsec_channel_size : 0);
}

/// Whether the user data are there as they were sent, followed by the integrity check alone.
bool is_clear(const MacSec& header) { return !header.version && !header.encrypted && !header.changed; }

/// Ends the data where the integrity check value begins. What follows it in a short frame is padding.
bool end_at_check(Context& context, const MacSec& header, std::uint32_t tag_end) {
    if (header.short_length != 0) return context.end_at(tag_end + header.short_length);
    if (context.end_unknown()) return true;
    return context.remaining() >= wire::macsec_icv_size && context.end_at(context.end - wire::macsec_icv_size);
}

LayerId parse_macsec(Context& context) {
    const std::uint32_t start = context.offset;
    if (context.available() < octets_of<MacSec>) return context.stop_short(LayerId::macsec, octets_of<MacSec>);
    const MacSec header = *wire::parse<MacSec>({context.at(start), octets_of<MacSec>});
    const std::uint32_t size = tag_size(header);
    constexpr std::uint32_t type_size = 2;
    const bool clear = is_clear(header);
    const std::byte* p = context.take(LayerId::macsec, clear ? size + type_size : size);
    if (p == nullptr) return LayerId::none;
    if (context.captured() < context.end) context.out.layers[context.out.layer_count - 1u].variant = frame_is_cut;
    if (!clear) {
        if (header.encrypted)
            context.leave_unread(wire::CarrierKind::ether_type, wire::ether_type::macsec);
        else
            context.leave_unread(wire::CarrierKind::macsec, 0);
        return context.stop_after(LayerId::macsec);
    }
    if (!end_at_check(context, header, start + size))
        return context.stop(Outcome::malformed, Reason::bad_total_length, LayerId::macsec, start + 1,
                            wire::macsec_icv_size);
    const LayerId next = after_type_or_length(context, base::load_be16(p + size), LayerId::macsec);
    return next_or_last(context, next, LayerId::macsec);
}

constexpr wire::FieldInfo macsec_computed[] = {
    {"macsec.TCI", "Tag control information", 0, 6, Kind::uint8, Base::hex},
    floating("macsec.SCI.system_identifier", "System identifier", Kind::ether),
    floating("macsec.SCI.port_identifier", "Port identifier", Kind::uint16),
    floating("macsec.etype", "Type", Kind::uint16, Base::hex, wire::ether_type::names),
    floating("macsec.ICV", "Integrity check value", Kind::bytes),
};

/// After the user data, which end with the frame unless their length is given.
void describe_check(const LayerView& view, const Tree& frame, const MacSec& header) {
    const std::uint32_t tag_end = view.layer.offset + tag_size(header);
    const std::uint32_t end = end_of_packet(view.dissection, view.layer.depth, view.bytes);
    constexpr std::uint32_t size = wire::macsec_icv_size;
    const std::uint32_t at = header.short_length != 0 ? tag_end + header.short_length : end - std::min(end, size);
    if (at >= tag_end && at + size <= end) frame.octets(pick(macsec_computed, "macsec.ICV"), at, size);
}

void describe_macsec(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    const MacSec header = *wire::parse<MacSec>(tree.octets());
    tree.open(pick(macsec_computed, "macsec.TCI"));
    tree.fields<&MacSec::version, &MacSec::end_station, &MacSec::has_channel, &MacSec::single_copy_broadcast,
                &MacSec::encrypted, &MacSec::changed>();
    tree.close();
    tree.fields<&MacSec::association, &MacSec::short_length, &MacSec::packet_number>();
    std::uint32_t at = octets_of<MacSec>;
    if (header.has_channel) {
        tree.octets(pick(macsec_computed, "macsec.SCI.system_identifier"), at, 6);
        if (tree.size() >= at + wire::macsec_channel_size)
            tree.number(pick(macsec_computed, "macsec.SCI.port_identifier"), base::load_be16(tree.at(at + 6)), at + 6,
                        2);
        at += wire::macsec_channel_size;
    }
    if (tree.size() >= at + 2) tree.number(pick(macsec_computed, "macsec.etype"), base::load_be16(tree.at(at)), at, 2);
    if (view.layer.variant != frame_is_cut) describe_check(view, {view.bytes, 0, visitor}, header);
}

}  // namespace

constinit const LayerRow macsec_layer{
    "macsec", &protocol::macsec, {}, parse_macsec, describe_macsec, wire::field_table<MacSec>, macsec_computed};

}  // namespace dissect::layers
