#include "wire/cm.h"

#include <algorithm>
#include <array>
#include <span>

#include "dissect/layer_table.h"
#include "dissect/layers/payload.h"
#include "dissect/layers/protocols.h"
#include "wire/cm_dreq.h"
#include "wire/cm_lap.h"
#include "wire/cm_mra.h"
#include "wire/cm_rej.h"
#include "wire/cm_rep.h"
#include "wire/cm_req.h"
#include "wire/cm_rtu.h"
#include "wire/cm_sidr.h"

namespace dissect::inline layers {
namespace {

/// A message that the snap length cut is recorded as far as it goes: the limits come before the private data.
template <LayerId Id>
LayerId parse_cm(Context& context) {
    if (context.remaining() < wire::cm_message_octets) return context.stop_short(Id, wire::cm_message_octets);
    const std::uint32_t captured = std::min(context.available(), wire::cm_message_octets);
    context.record(Id, context.offset, captured, wire::cm_message_octets);
    if (captured < wire::cm_message_octets) return context.stop_short(Id, wire::cm_message_octets);
    return after_payload(context);
}

/// What the tree of a REQ adds to the fields at fixed places.
constexpr std::array cm_computed{
    // An identifier of an IP service, IBTA vol. 1, Annex A11: within its eight bytes.
    wire::FieldInfo{"infiniband.cm.req.serviceid.prefix", "Prefix", 0, 40, wire::Kind::bytes},
    wire::FieldInfo{"infiniband.cm.req.serviceid.protocol", "Protocol", 40, 8, wire::Kind::uint8, wire::Base::hex},
    wire::FieldInfo{"infiniband.cm.req.serviceid.dport", "Destination Port", 48, 16, wire::Kind::uint16,
                    wire::Base::hex},
    // In place of a GID that is an IPv4 address, where the message itself comes over IPv4.
    wire::FieldInfo{"infiniband.cm.req.prim_localgid_ipv4", "Primary Local Port GID", 0, 32, wire::Kind::ipv4},
    wire::FieldInfo{"infiniband.cm.req.prim_remotegid_ipv4", "Primary Remote Port GID", 0, 32, wire::Kind::ipv4},
    // Private data for an IP service.
    wire::FieldInfo{wire::layout_of<wire::IpCm>.name, wire::layout_of<wire::IpCm>.label, 0, 0, wire::Kind::bytes},
    wire::FieldInfo{"infiniband.cm.req.ip_cm.sip4", "IP CM Source IP", 128, 32, wire::Kind::ipv4},
    wire::FieldInfo{"infiniband.cm.req.ip_cm.dip4", "IP CM Destination IP", 256, 32, wire::Kind::ipv4},
    wire::FieldInfo{"infiniband.cm.req.ip_cm.private", "IP CM Consumer PrivateData", 0, 0, wire::Kind::bytes},
    wire::field_table<wire::IpCm>[0],
    wire::field_table<wire::IpCm>[1],
    wire::field_table<wire::IpCm>[2],
    wire::field_table<wire::IpCm>[3],
    wire::field_table<wire::IpCm>[4],
    wire::field_table<wire::IpCm>[5],
    wire::field_table<wire::IpCm>[6],
};
constexpr std::span service_id_parts = std::span{cm_computed}.first<3>();
constexpr const wire::FieldInfo& local_gid_ipv4 = cm_computed[3];
constexpr const wire::FieldInfo& remote_gid_ipv4 = cm_computed[4];
constexpr const wire::FieldInfo& ip_cm_heading = cm_computed[5];
constexpr std::span ip_cm_ipv4 = std::span{cm_computed}.subspan<6, 2>();
constexpr const wire::FieldInfo& ip_cm_private = cm_computed[8];
constexpr std::span ip_cm_header = std::span{cm_computed}.subspan<9, 5>();
constexpr std::span ip_cm_ipv6 = std::span{cm_computed}.subspan<14, 2>();

bool is_ipv4_mapped(base::Bytes address) {
    const auto is = [](std::byte value) { return [value](std::byte octet) { return octet == value; }; };
    return std::all_of(address.begin(), address.begin() + 10, is(std::byte{0})) &&
           std::all_of(address.begin() + 10, address.begin() + 12, is(std::byte{0xff}));
}

/// The bytes of a message and where they lie.
struct Message {
    base::Bytes octets;
    std::uint32_t offset;
    Visitor& visitor;
    bool over_ipv4;

    bool has(const wire::FieldInfo& info) const { return (info.bit_offset + info.bit_width) / 8u <= octets.size(); }
    void show(const wire::FieldInfo& info) const { describe_fields({&info, 1}, octets, offset, visitor); }
};

void describe_service_id(const Message& message, const wire::FieldInfo& info) {
    const std::uint32_t at = info.bit_offset / 8u;
    const base::Bytes id = message.octets.subspan(at, info.bit_width / 8u);
    message.visitor.open(info, value_of(info, message.octets), {message.offset + at, info.bit_width / 8u});
    describe_fields(service_id_parts, id, message.offset + at, message.visitor);
    message.visitor.close();
}

void describe_gid(const Message& message, const wire::FieldInfo& info, const wire::FieldInfo& as_ipv4) {
    const std::uint32_t at = info.bit_offset / 8u;
    const base::Bytes gid = message.octets.subspan(at, 16);
    if (message.over_ipv4 && is_ipv4_mapped(gid))
        message.visitor.field(as_ipv4, {0, gid.last(4), {}}, {message.offset + at + 12, 4});
    else
        message.show(info);
}

void describe_ip_cm(const Message& message, const wire::FieldInfo& info) {
    constexpr unsigned header_octets = wire::size_of<wire::IpCm>;
    const std::uint32_t at = message.offset + info.bit_offset / 8u;
    const base::Bytes data = message.octets.subspan(info.bit_offset / 8u, info.bit_width / 8u);
    const bool ipv4 = wire::View<wire::IpCm>::unchecked(data.data()).get<&wire::IpCm::ip_version>() == 4;
    Visitor& visitor = message.visitor;
    visitor.open(ip_cm_heading, {0, data, {}}, {at, info.bit_width / 8u});
    describe_fields(ip_cm_header, data, at, visitor);
    describe_fields(ipv4 ? ip_cm_ipv4 : ip_cm_ipv6, data, at, visitor);
    visitor.field(ip_cm_private, {0, data.subspan(header_octets), {}},
                  {at + header_octets, info.bit_width / 8u - header_octets});
    visitor.close();
}

/// Visits the fields of a REQ or of a SIDR REQ; what is more than bytes at a fixed place is recognised by its name.
void describe_request(const LayerView& view, Visitor& visitor, const LayerRow& row, unsigned service_id_offset) {
    const Message message{view.octets(), view.layer.offset, visitor,
                          view.dissection.network.family == Network::Family::ipv4};
    const bool ip_service = message.octets.size() >= service_id_offset + 8 &&
                            wire::is_ip_service(message.octets.data() + service_id_offset);
    visitor.open(row.heading, {0, message.octets, {}}, {view.layer.offset, view.layer.length});
    for (const wire::FieldInfo& info : row.fields) {
        if (!message.has(info)) continue;
        if (ip_service && info.name.ends_with(".serviceid"))
            describe_service_id(message, info);
        else if (info.name == "infiniband.cm.req.prim_localgid")
            describe_gid(message, info, local_gid_ipv4);
        else if (info.name == "infiniband.cm.req.prim_remotegid")
            describe_gid(message, info, remote_gid_ipv4);
        else if (ip_service && info.name.ends_with(".private"))
            describe_ip_cm(message, info);
        else
            message.show(info);
    }
    visitor.close();
}

void describe_req(const LayerView& view, Visitor& visitor) {
    describe_request(view, visitor, cm_req_layer, wire::cm_req_service_id_offset);
}
void describe_sidr_req(const LayerView& view, Visitor& visitor) {
    describe_request(view, visitor, cm_sidr_req_layer, wire::cm_sidr_req_service_id_offset);
}

}  // namespace

#define RDMASCOPE_MESSAGE(name, Header, describe, fields, computed)                                                    \
    constinit const LayerRow name##_layer {                                                                            \
#name, &protocol::infiniband, wire::heading_of < wire::Header>(), parse_cm < LayerId::name>, describe, fields, \
            computed                                                                                                   \
    }

RDMASCOPE_MESSAGE(cm_req, CmReq, describe_req, wire::cm_req_fields, cm_computed);
RDMASCOPE_MESSAGE(cm_mra, CmMra, nullptr, wire::field_table<wire::CmMra>, {});
RDMASCOPE_MESSAGE(cm_rej, CmRej, nullptr, wire::field_table<wire::CmRej>, {});
RDMASCOPE_MESSAGE(cm_rep, CmRep, nullptr, wire::cm_rep_fields, {});
RDMASCOPE_MESSAGE(cm_rtu, CmRtu, nullptr, wire::field_table<wire::CmRtu>, {});
RDMASCOPE_MESSAGE(cm_dreq, CmDreq, nullptr, wire::cm_dreq_fields, {});
RDMASCOPE_MESSAGE(cm_drep, CmDrep, nullptr, wire::field_table<wire::CmDrep>, {});
RDMASCOPE_MESSAGE(cm_sidr_req, CmSidrReq, describe_sidr_req, wire::field_table<wire::CmSidrReq>, cm_computed);
RDMASCOPE_MESSAGE(cm_sidr_rep, CmSidrRep, nullptr, wire::field_table<wire::CmSidrRep>, {});
RDMASCOPE_MESSAGE(cm_lap, CmLap, nullptr, wire::field_table<wire::CmLap>, {});
RDMASCOPE_MESSAGE(cm_apr, CmApr, nullptr, wire::field_table<wire::CmApr>, {});
#undef RDMASCOPE_MESSAGE

}  // namespace dissect::layers
