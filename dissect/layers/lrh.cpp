#include "wire/lrh.h"

#include "dissect/layer_table.h"
#include "dissect/layers/crc_status.h"
#include "dissect/layers/protocols.h"
#include "wire/rwh.h"
#include "wire/vcrc.h"

namespace dissect::inline layers {
namespace {

constexpr std::uint32_t lrh_destination_offset = 2;
constexpr std::uint32_t lrh_source_offset = 6;

/// The packet's bytes from the LRH's first to the last before the VCRC. IBTA vol. 1, 7.7.8.
std::uint32_t packet_octets(const std::byte* lrh) {
    return wire::View<wire::Lrh>::unchecked(lrh).get<&wire::Lrh::packet_length>() * 4u;
}

/// Takes the VCRC after the packet, whose bytes are all there.
LayerId take_vcrc(Context& context, std::uint32_t lrh_offset, std::uint32_t octets) {
    context.offset = lrh_offset + octets;
    context.end = context.offset + wire::vcrc_octets;
    const std::byte* const first = context.take(LayerId::vcrc, wire::vcrc_octets);
    if (first == nullptr) return LayerId::none;
    if (!context.options.verify_crc) {
        context.out.bth.vcrc = CrcStatus::unchecked;
        return LayerId::none;
    }
    const std::uint16_t computed = wire::vcrc({context.at(lrh_offset), octets});
    context.out.bth.vcrc = computed == base::load_be16(first) ? CrcStatus::good : CrcStatus::bad;
    return LayerId::none;
}

/// The layers of a raw packet do not come back for the VCRC, so it is taken before them.
void take_raw_vcrc(Context& context, std::uint32_t lrh_offset, std::uint32_t octets) {
    if (context.captured() < lrh_offset + octets + wire::vcrc_octets) return;
    const std::uint32_t offset = context.offset;
    const std::uint32_t end = context.end;
    take_vcrc(context, lrh_offset, octets);
    context.offset = offset;
    context.end = end;
}

LayerId parse_lrh(Context& context) {
    const std::uint32_t at = context.offset;
    const std::byte* const first = context.take(LayerId::lrh, wire::size_of<wire::Lrh>);
    if (first == nullptr) return LayerId::none;
    context.out.network = {Network::Family::lid, 0, 0, at + lrh_source_offset, at + lrh_destination_offset};
    const std::uint32_t octets = packet_octets(first);
    if (octets < wire::size_of<wire::Lrh>) [[unlikely]]
        return context.stop(Outcome::malformed, Reason::bad_header_length, LayerId::lrh, at, wire::size_of<wire::Lrh>);
    // Some captures leave the VCRC out; whether there is room for it is unknown once `end` is the packet's.
    const bool has_vcrc = context.end >= at + octets + wire::vcrc_octets;
    context.out.layers[context.out.layer_count - 1].variant = has_vcrc;
    if (!context.end_at(at + octets)) [[unlikely]]
        return context.stop(Outcome::malformed, Reason::bad_total_length, LayerId::lrh, at, octets);
    const auto next =
        static_cast<wire::LinkNextHeader>(wire::View<wire::Lrh>::unchecked(first).get<&wire::Lrh::link_next_header>());
    if (next == wire::LinkNextHeader::bth) return LayerId::bth;
    if (next == wire::LinkNextHeader::grh) return LayerId::grh;
    if (has_vcrc) take_raw_vcrc(context, at, octets);
    return next == wire::LinkNextHeader::raw ? LayerId::rwh : LayerId::ipv6;
}

LayerId parse_rwh(Context& context) {
    const std::byte* const first = context.take(LayerId::rwh, wire::size_of<wire::Rwh>);
    if (first == nullptr) return LayerId::none;
    switch (wire::View<wire::Rwh>::unchecked(first).get<&wire::Rwh::ethertype>()) {
        case 0x0800: return LayerId::ipv4;
        case 0x86dd: return LayerId::ipv6;
        default:
            return context.stop(Outcome::unsupported, Reason::unknown_next_header, LayerId::rwh, context.offset, 0);
    }
}

/// Follows the ICRC.
LayerId parse_vcrc(Context& context) {
    const LayerRef* const lrh = context.out.find(LayerId::lrh);
    if (lrh == nullptr || lrh->variant == 0) return LayerId::none;
    return take_vcrc(context, lrh->offset, packet_octets(context.at(lrh->offset)));
}

constexpr wire::FieldInfo vcrc_field{"infiniband.variant.crc", "Variant CRC",  0, 16,
                                     wire::Kind::uint16,       wire::Base::hex};
constexpr wire::FieldInfo vcrc_status_field = crc_status_field("rdma.vcrc.status", "Variant CRC Status");

void describe_vcrc(const LayerView& view, Visitor& visitor) {
    const Extent extent{view.layer.offset, view.layer.length};
    visitor.field(vcrc_field, value_of(vcrc_field, view.octets()), extent);
    visitor.field(vcrc_status_field, {number_of(view.dissection.bth.vcrc), {}, {}}, extent);
}

}  // namespace

constinit const LayerRow lrh_layer{
    "lrh", &protocol::infiniband, wire::heading_of<wire::Lrh>(), parse_lrh, nullptr, wire::lrh_fields, {}};
constinit const LayerRow rwh_layer{
    "rwh", &protocol::infiniband, wire::heading_of<wire::Rwh>(), parse_rwh, nullptr, wire::rwh_fields, {}};
constinit const LayerRow vcrc_layer{"vcrc",           &protocol::infiniband,  {}, parse_vcrc, describe_vcrc,
                                    {&vcrc_field, 1}, {&vcrc_status_field, 1}};

}  // namespace dissect::layers
