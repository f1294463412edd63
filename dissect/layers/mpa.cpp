#include "wire/mpa.h"

#include "dissect/layer_table.h"
#include "dissect/layers/iwarp.h"
#include "dissect/layers/protocols.h"

namespace dissect::inline layers {
namespace {

using wire::Base;
using wire::Kind;

// The declarations that are visited are the very ones that the rows list: the registry knows a field by its address.
constexpr wire::FieldInfo start_computed[] = {
    {"iwarp_mpa.privatedata", "Private data", 0, 0, Kind::bytes},
    {wire::layout_of<wire::MpaEnhanced>.name, wire::layout_of<wire::MpaEnhanced>.label},
    wire::field_table<wire::MpaEnhanced>[0],
    wire::field_table<wire::MpaEnhanced>[1],
    wire::field_table<wire::MpaEnhanced>[2],
    wire::field_table<wire::MpaEnhanced>[3],
    wire::field_table<wire::MpaEnhanced>[4],
    wire::field_table<wire::MpaEnhanced>[5],
    { wire::layout_of<wire::MpaLegacy>.name, wire::layout_of<wire::MpaLegacy>.label },
    wire::field_table<wire::MpaLegacy>[0],
    wire::field_table<wire::MpaLegacy>[1],
    { "iwarp_mpa.legacy.broken_le_legacy", "In little-endian byte order", 0, 0, Kind::boolean },
};
constexpr const wire::FieldInfo& private_data = start_computed[0];
constexpr const wire::FieldInfo& enhanced_heading = start_computed[1];
constexpr auto enhanced_fields = std::span<const wire::FieldInfo>{start_computed}.subspan(2, 6);
constexpr const wire::FieldInfo& legacy_heading = start_computed[8];
constexpr const wire::FieldInfo& legacy_ird = start_computed[9];
constexpr const wire::FieldInfo& legacy_ord = start_computed[10];
constexpr const wire::FieldInfo& legacy_swapped = start_computed[11];

void describe_legacy(const wire::MpaLegacyDepths& legacy, base::Bytes data, std::uint32_t at, Visitor& visitor) {
    visitor.open(legacy_heading, {0, data, {}}, {at, static_cast<std::uint32_t>(data.size())});
    visitor.field(legacy_ird, {legacy.depths.ird, {}, {}}, {at, 4});
    visitor.field(legacy_ord, {legacy.depths.ord, {}, {}}, {at + 4, 4});
    if (legacy.little_endian) visitor.field(legacy_swapped, {1, {}, {}}, {at, 8});
    visitor.close();
}

template <class Start>
LayerId parse_start(Context& context, LayerId id) {
    constexpr auto header_size = static_cast<std::uint32_t>(wire::size_of<Start>);
    const std::uint32_t first = context.offset;
    const std::byte* header = context.take(id, header_size);
    if (header == nullptr) return LayerId::none;
    const auto view = wire::View<Start>::unchecked(header);
    const std::uint32_t private_length = view.template get<&Start::private_length>();
    LayerRef& layer = context.out.layers[context.out.layer_count - 1u];
    layer.wire_length = header_size + private_length;
    layer.length = header_size + std::min(private_length, context.available());
    if (private_length > wire::mpa_private_max)
        return context.stop(Outcome::malformed, Reason::bad_start_frame, id, first + 18, 0);
    if (context.available() < private_length) return context.stop_short(id, private_length);
    const auto revision = view.template get<&Start::revision>();
    if (revision == 0 || revision > 2)
        return context.stop(Outcome::unsupported, Reason::bad_version, id, first + 17, 0);
    const unsigned known = revision == 2 ? 0x10u : 0u;
    if ((view.template get<&Start::reserved>() & ~known) != 0) context.odd(Reason::reserved_not_zero, id, first + 16);
    context.offset += private_length;
    return LayerId::none;
}

LayerId parse_request(Context& context) { return parse_start<wire::MpaRequest>(context, LayerId::mpa_request); }
LayerId parse_reply(Context& context) { return parse_start<wire::MpaReply>(context, LayerId::mpa_reply); }

template <class Start>
void describe_start(const LayerView& view, Visitor& visitor) {
    const base::Bytes octets = view.octets();
    const std::uint32_t at = view.layer.offset;
    constexpr auto header_size = static_cast<std::uint32_t>(wire::size_of<Start>);
    visitor.open(row_of(view.layer.id).heading, {0, octets, {}}, {at, view.layer.length});
    describe_fields(wire::field_table<Start>, octets, at, visitor);
    const base::Bytes data = octets.size() > header_size ? octets.subspan(header_size) : base::Bytes{};
    if (!data.empty()) {
        const auto length = static_cast<std::uint32_t>(data.size());
        visitor.field(private_data, {0, data, {}}, {at + header_size, length});
        if (wire::parse<Start>(octets)->enhanced() && data.size() >= wire::size_of<wire::MpaEnhanced>) {
            visitor.open(enhanced_heading, {0, data.first(4), {}}, {at + header_size, 4});
            describe_fields(enhanced_fields, data.first(4), at + header_size, visitor);
            visitor.close();
        }
        if (const auto legacy = wire::mpa_legacy(wire::parse<Start>(octets)->revision, data))
            describe_legacy(*legacy, data, at + header_size, visitor);
    }
    visitor.close();
}

LayerId parse_fpdu(Context& context) {
    const std::uint32_t first = context.offset;
    if (context.available() < 2) return context.stop_short(LayerId::mpa_fpdu, 2);
    const std::uint32_t length = base::load_be16(context.at(first));
    const std::uint32_t size = wire::mpa_fpdu_size(length);
    const std::uint32_t captured = std::min(context.available(), size);
    context.record(LayerId::mpa_fpdu, first, captured, size);
    if (context.remaining() < size)
        return context.stop(Outcome::malformed, Reason::bad_total_length, LayerId::mpa_fpdu, first, size);
    context.out.ddp = {};
    context.out.ddp.crc = captured == size ? CrcStatus::unchecked : CrcStatus::absent;
    if (length > wire::mpa_ulpdu_max) context.odd(Reason::length_exceeds_rfc, LayerId::mpa_fpdu, first);
    context.offset = first + 2;
    context.end = context.offset + length;
    if (context.available() < 1) return context.stop_short(LayerId::ddp_untagged, 1);
    const bool tagged = (*context.at(context.offset) & std::byte{0x80}) != std::byte{};
    return tagged ? LayerId::ddp_tagged : LayerId::ddp_untagged;
}

constexpr wire::ValueName crc_statuses[] = {{0, "Bad"}, {1, "Good"}, {2, "Unverified"}};
constexpr wire::FieldInfo fpdu_computed[] = {
    {"iwarp_mpa.pad", "Padding", 0, 0, Kind::bytes},
    {"iwarp_mpa.crc", "CRC", 0, 0, Kind::uint32, Base::hex},
    {"iwarp_mpa.crc_check", "CRC check", 0, 0, Kind::uint32, Base::hex},
    {"rdma.mpa_crc.status", "CRC status", 0, 0, Kind::uint8, Base::dec, false, crc_statuses},
    {wire::layout_of<wire::MpaMarker>.name, wire::layout_of<wire::MpaMarker>.label},
    wire::field_table<wire::MpaMarker>[0],
    wire::field_table<wire::MpaMarker>[1],
};
constexpr const wire::FieldInfo& pad_field = fpdu_computed[0];
constexpr const wire::FieldInfo& fpdu_crc_field = fpdu_computed[1];
constexpr const wire::FieldInfo& crc_check_field = fpdu_computed[2];
constexpr const wire::FieldInfo& fpdu_crc_status_field = fpdu_computed[3];
constexpr const wire::FieldInfo& markers_heading = fpdu_computed[4];
constexpr auto marker_fields = std::span<const wire::FieldInfo>{fpdu_computed}.subspan(5);

std::uint64_t status_number(CrcStatus status) {
    return status == CrcStatus::bad ? 0 : status == CrcStatus::good ? 1 : 2;
}

/// The markers of an FPDU lie after it, in their order; as many as `variant` says.
void describe_markers(const LayerView& view, Visitor& visitor) {
    constexpr std::uint32_t size = wire::mpa_marker_size;
    std::uint32_t at = view.layer.offset + view.layer.length;
    const std::uint32_t count = view.layer.variant;
    if (count == 0 || at + count * size > view.bytes.size()) return;
    visitor.open(markers_heading, {}, {at, count * size});
    for (std::uint32_t i = 0; i < count; ++i) {
        describe_fields(marker_fields, view.bytes.subspan(at, size), at, visitor);
        at += size;
    }
    visitor.close();
}

void describe_fpdu(const LayerView& view, Visitor& visitor) {
    const base::Bytes octets = view.octets();
    const std::uint32_t at = view.layer.offset;
    visitor.open(mpa_fpdu_layer.heading, {0, octets, {}}, {at, view.layer.length});
    describe_fields(wire::field_table<wire::MpaFpdu>, octets, at, visitor);
    if (octets.size() == view.layer.wire_length) {
        const std::uint32_t crc_at = view.layer.length - wire::mpa_crc_size;
        const std::uint32_t pad = wire::mpa_pad(base::load_be16(octets.data()));
        if (pad != 0) visitor.field(pad_field, {0, octets.subspan(crc_at - pad, pad), {}}, {at + crc_at - pad, pad});
        const CrcStatus status = view.dissection.ddp.crc;
        const bool checked = status == CrcStatus::good || status == CrcStatus::bad;
        visitor.field(checked ? crc_check_field : fpdu_crc_field, {base::load_be32(octets.data() + crc_at), {}, {}},
                      {at + crc_at, 4});
        visitor.field(fpdu_crc_status_field, {status_number(status), {}, {}}, {at + crc_at, 4});
    }
    describe_markers(view, visitor);
    visitor.close();
}

}  // namespace

namespace iwarp {
LayerId finish_unit(Context& context) {
    if (context.out.ddp.crc != CrcStatus::absent) return LayerId::none;
    const LayerRef* unit = context.out.find(LayerId::mpa_fpdu);
    if (unit == nullptr || unit->length == unit->wire_length) return LayerId::none;
    return context.stop(Outcome::truncated, Reason::snapped, LayerId::mpa_fpdu, unit->offset, unit->wire_length);
}
}  // namespace iwarp

constinit const LayerRow mpa_request_layer{"mpa_request",
                                           &protocol::mpa,
                                           {"iwarp_mpa.req", "Request frame header"},
                                           parse_request,
                                           describe_start<wire::MpaRequest>,
                                           wire::field_table<wire::MpaRequest>,
                                           start_computed};
constinit const LayerRow mpa_reply_layer{"mpa_reply",
                                         &protocol::mpa,
                                         {"iwarp_mpa.rep", "Reply frame header"},
                                         parse_reply,
                                         describe_start<wire::MpaReply>,
                                         wire::field_table<wire::MpaReply>,
                                         start_computed};
constinit const LayerRow mpa_fpdu_layer{"mpa_fpdu",   &protocol::mpa, {"iwarp_mpa.fpdu", "FPDU"},
                                        parse_fpdu,   describe_fpdu,  wire::field_table<wire::MpaFpdu>,
                                        fpdu_computed};

}  // namespace dissect::layers
