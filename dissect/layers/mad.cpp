#include "wire/mad.h"

#include <algorithm>
#include <array>

#include "dissect/layer_table.h"
#include "dissect/layers/payload.h"
#include "dissect/layers/protocols.h"
#include "wire/cm.h"

namespace dissect::inline layers {
namespace {

constexpr std::array mad_computed{
    wire::FieldInfo{"rdma.mad.attribute", "Attribute", 0, 0, wire::Kind::string},
    wire::FieldInfo{"rdma.mad.result", "Result", 0, 0, wire::Kind::string},
    wire::FieldInfo{"infiniband.mad.data", "MAD Data Payload", 0, 0, wire::Kind::bytes},
};
constexpr const wire::FieldInfo& attribute_field = mad_computed[0];
constexpr const wire::FieldInfo& result_field = mad_computed[1];
constexpr const wire::FieldInfo& data_field = mad_computed[2];

/// The layer of a class's data; none where they are not read.
LayerId class_layer(std::uint8_t management_class) {
    switch (management_class) {
        case wire::subnet_management: return LayerId::smp;
        case wire::directed_subnet_management: return LayerId::smp_directed;
        case wire::subnet_administration: return LayerId::sa;
        case wire::performance_management: return LayerId::performance;
        case wire::device_management: return LayerId::device_management;
        case wire::congestion_management: return LayerId::congestion_control;
        default: return LayerId::none;
    }
}

LayerId message_of(std::uint16_t attribute) {
    switch (static_cast<wire::CmMessage>(attribute)) {
        case wire::CmMessage::req: return LayerId::cm_req;
        case wire::CmMessage::mra: return LayerId::cm_mra;
        case wire::CmMessage::rej: return LayerId::cm_rej;
        case wire::CmMessage::rep: return LayerId::cm_rep;
        case wire::CmMessage::rtu: return LayerId::cm_rtu;
        case wire::CmMessage::dreq: return LayerId::cm_dreq;
        case wire::CmMessage::drep: return LayerId::cm_drep;
        case wire::CmMessage::sidr_req: return LayerId::cm_sidr_req;
        case wire::CmMessage::sidr_rep: return LayerId::cm_sidr_rep;
        case wire::CmMessage::lap: return LayerId::cm_lap;
        case wire::CmMessage::apr: return LayerId::cm_apr;
    }
    return LayerId::none;
}

/// The layer is the whole datagram, as in Wireshark; a CM message within it is a layer of its own.
LayerId parse_mad(Context& context) {
    constexpr std::uint32_t header_octets = wire::size_of<wire::Mad>;
    BthSummary& bth = context.out.bth;
    bth.payload_offset = context.offset;
    bth.payload_length = context.remaining() - bth.pad_count;
    if (context.available() < header_octets + bth.pad_count)
        return context.stop_short(LayerId::mad, header_octets + bth.pad_count);
    const auto header = wire::View<wire::Mad>::unchecked(context.at(context.offset));
    const std::uint32_t wire_length = std::min<std::uint32_t>(bth.payload_length, wire::mad_octets);
    const std::uint32_t captured = std::min(wire_length, context.available());
    context.record(LayerId::mad, context.offset, captured, wire_length);
    if (wire_length < wire::mad_octets) [[unlikely]]
        return context.stop(Outcome::malformed, Reason::too_short, LayerId::mad, context.offset, wire::mad_octets);
    context.offset += header_octets;
    const auto management_class = header.get<&wire::Mad::management_class>();
    const LayerId next = management_class == wire::communication_management
                             ? message_of(header.get<&wire::Mad::attribute_id>())
                             : class_layer(management_class);
    if (next != LayerId::none) return next;
    if (captured < wire_length) return context.stop_short(LayerId::mad, wire_length - header_octets);
    return after_payload(context);
}

void describe_mad(const LayerView& view, Visitor& visitor) {
    constexpr std::uint32_t header_octets = wire::size_of<wire::Mad>;
    const base::Bytes octets = view.octets();
    const auto header = wire::View<wire::Mad>::unchecked(octets.data());
    visitor.open(mad_layer.heading, {0, octets, {}}, {view.layer.offset, view.layer.length});
    describe_fields(wire::mad_fields, octets, view.layer.offset, visitor);
    const std::string_view name =
        wire::mad_attribute_name(header.get<&wire::Mad::management_class>(), header.get<&wire::Mad::attribute_id>());
    if (!name.empty()) visitor.field(attribute_field, {0, {}, name}, {view.layer.offset + 16, 2});
    const std::string_view result =
        wire::mad_status_text(header.get<&wire::Mad::management_class>(), header.get<&wire::Mad::status>());
    if (!result.empty()) visitor.field(result_field, {0, {}, result}, {view.layer.offset + 4, 2});
    visitor.field(data_field, {0, octets.subspan(header_octets), {}},
                  {view.layer.offset + header_octets, view.layer.length - header_octets});
    visitor.close();
}

}  // namespace

constinit const LayerRow mad_layer{"mad",       &protocol::infiniband, wire::heading_of<wire::Mad>(),
                                   parse_mad,   describe_mad,          wire::mad_fields,
                                   mad_computed};

}  // namespace dissect::layers
