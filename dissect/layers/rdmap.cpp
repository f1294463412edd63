#include "wire/rdmap.h"

#include "dissect/layer_table.h"
#include "dissect/layers/iwarp.h"
#include "dissect/layers/protocols.h"
#include "wire/rdmap_atomic.h"
#include "wire/terminate.h"

namespace dissect::inline layers {
namespace {

using wire::RdmapOpcode;

/// What follows the DDP header; LayerId::none for an opcode that rdmascope does not know.
LayerId layer_behind(RdmapOpcode opcode) {
    switch (opcode) {
        case RdmapOpcode::write:
        case RdmapOpcode::read_response:
        case RdmapOpcode::send:
        case RdmapOpcode::send_invalidate:
        case RdmapOpcode::send_solicited:
        case RdmapOpcode::send_solicited_invalidate: return LayerId::ulp_payload;
        case RdmapOpcode::read_request: return LayerId::rdmap_read_request;
        case RdmapOpcode::terminate: return LayerId::rdmap_terminate;
        case RdmapOpcode::immediate:
        case RdmapOpcode::immediate_solicited: return LayerId::rdmap_immediate;
        case RdmapOpcode::atomic_request: return LayerId::rdmap_atomic_request;
        case RdmapOpcode::atomic_response: return LayerId::rdmap_atomic_response;
    }
    return LayerId::none;
}

/// RDMAP's control field is DDP's byte for its upper layer: this layer lies within the one before it.
LayerId parse_rdmap(Context& context) {
    DdpSummary& ddp = context.out.ddp;
    const std::uint32_t at = context.out.layers[context.out.layer_count - 1u].offset + 1;
    const std::uint32_t size = ddp.tagged ? 1 : 5;
    context.record(LayerId::rdmap, at, size, size);
    const auto control = wire::View<wire::RdmapControl>::unchecked(context.at(at));
    ddp.opcode = control.get<&wire::RdmapControl::opcode>();
    if (control.get<&wire::RdmapControl::version>() > 1) [[unlikely]]
        return context.stop(Outcome::unsupported, Reason::bad_version, LayerId::rdmap, at, 0);
    const LayerId next = layer_behind(static_cast<RdmapOpcode>(ddp.opcode));
    if (next == LayerId::none) [[unlikely]]
        return context.stop(Outcome::unsupported, Reason::unknown_opcode, LayerId::rdmap, at, 0);
    if (ddp.tagged != wire::rdmap_tagged(ddp.opcode)) [[unlikely]]
        return context.stop(Outcome::malformed, Reason::bad_opcode, LayerId::rdmap, at, 0);
    if (control.get<&wire::RdmapControl::reserved>() != 0) [[unlikely]]
        context.odd(Reason::reserved_not_zero, LayerId::rdmap, at);
    if (!ddp.tagged) {
        const std::uint32_t stag = base::load_be32(context.at(at + 1));
        if (wire::rdmap_invalidates(ddp.opcode))
            ddp.invalidate_stag = stag;
        else if (stag != 0) [[unlikely]]
            context.odd(Reason::reserved_not_zero, LayerId::rdmap, at + 1);
        if (ddp.queue != wire::rdmap_queue(ddp.opcode)) [[unlikely]]
            context.odd(Reason::wrong_queue, LayerId::rdmap, at);
    }
    return next;
}

/// Claims a message of a fixed size that fills its segment.
template <class Header>
const std::byte* take_message(Context& context, LayerId id) {
    constexpr auto size = static_cast<std::uint32_t>(wire::size_of<Header>);
    const std::uint32_t at = context.offset;
    const std::byte* first = context.take(id, size);
    if (first != nullptr && context.remaining() != 0) context.odd(Reason::wrong_length, id, at);
    return first;
}

LayerId parse_read_request(Context& context) {
    using wire::RdmapReadRequest;
    const std::byte* first = take_message<RdmapReadRequest>(context, LayerId::rdmap_read_request);
    if (first == nullptr) return LayerId::none;
    const auto view = wire::View<RdmapReadRequest>::unchecked(first);
    DdpSummary& ddp = context.out.ddp;
    ddp.sink_stag = view.get<&RdmapReadRequest::sink_stag>();
    ddp.sink_offset = view.get<&RdmapReadRequest::sink_offset>();
    ddp.read_size = view.get<&RdmapReadRequest::size>();
    ddp.source_stag = view.get<&RdmapReadRequest::source_stag>();
    ddp.source_offset = view.get<&RdmapReadRequest::source_offset>();
    return iwarp::finish_unit(context);
}

LayerId parse_atomic_request(Context& context) {
    using wire::RdmapAtomicRequest;
    const std::byte* first = take_message<RdmapAtomicRequest>(context, LayerId::rdmap_atomic_request);
    if (first == nullptr) return LayerId::none;
    const auto view = wire::View<RdmapAtomicRequest>::unchecked(first);
    DdpSummary& ddp = context.out.ddp;
    ddp.atomic_operation = view.get<&RdmapAtomicRequest::operation>();
    ddp.request_id = view.get<&RdmapAtomicRequest::request_id>();
    ddp.source_stag = view.get<&RdmapAtomicRequest::remote_stag>();
    ddp.source_offset = view.get<&RdmapAtomicRequest::remote_offset>();
    return iwarp::finish_unit(context);
}

LayerId parse_atomic_response(Context& context) {
    using wire::RdmapAtomicResponse;
    const std::byte* first = take_message<RdmapAtomicResponse>(context, LayerId::rdmap_atomic_response);
    if (first == nullptr) return LayerId::none;
    const auto view = wire::View<RdmapAtomicResponse>::unchecked(first);
    context.out.ddp.request_id = view.get<&RdmapAtomicResponse::request_id>();
    context.out.ddp.original_data = view.get<&RdmapAtomicResponse::original>();
    return iwarp::finish_unit(context);
}

LayerId parse_immediate(Context& context) {
    const std::byte* first = take_message<wire::RdmapImmediate>(context, LayerId::rdmap_immediate);
    if (first == nullptr) return LayerId::none;
    context.out.ddp.immediate = base::load_be64(first);
    return iwarp::finish_unit(context);
}

LayerId parse_ulp_payload(Context& context) {
    DdpSummary& ddp = context.out.ddp;
    ddp.payload_offset = context.offset;
    ddp.payload_length = context.remaining();
    if (ddp.payload_length == 0) return iwarp::finish_unit(context);
    const std::uint32_t there = context.available();
    context.record(LayerId::ulp_payload, context.offset, there, ddp.payload_length);
    if (there < ddp.payload_length) return context.stop_short(LayerId::ulp_payload, ddp.payload_length);
    context.offset += there;
    return iwarp::finish_unit(context);
}

// The declarations that are visited are the very ones that the row lists: the registry knows a field by its address.
constexpr wire::FieldInfo control_fields[] = {
    {"iwarp_rdma.control_field", "RDMAP control field"},
    wire::field_table<wire::RdmapControl>[0],
    wire::field_table<wire::RdmapControl>[1],
    wire::field_table<wire::RdmapControl>[2],
    wire::field_table<wire::RdmapReserved>[0],
    wire::field_table<wire::RdmapInvalidate>[0],
};
constexpr const wire::FieldInfo& reserved_field = control_fields[4];
constexpr const wire::FieldInfo& invalidate_field = control_fields[5];

void describe_headed(const LayerView& view, Visitor& visitor) {
    const LayerRow& row = row_of(view.layer.id);
    visitor.open(row.heading, {0, view.octets(), {}}, {view.layer.offset, view.layer.length});
    describe_fields(row.fields, view.octets(), view.layer.offset, visitor);
    visitor.close();
}

constexpr auto atomic_request_fields = [] {
    constexpr std::size_t each = wire::field_table<wire::RdmapAtomicRequest>.size();
    std::array<wire::FieldInfo, 3 * each> fields{};
    for (std::size_t i = 0; i < each; ++i) {
        fields[i] = wire::field_table<wire::RdmapFetchAdd>[i];
        fields[each + i] = wire::field_table<wire::RdmapCompareSwap>[i];
        fields[2 * each + i] = wire::field_table<wire::RdmapAtomicRequest>[i];
    }
    return fields;
}();

void describe_atomic_request(const LayerView& view, Visitor& visitor) {
    constexpr std::size_t each = atomic_request_fields.size() / 3;
    const auto operation = static_cast<wire::AtomicOperation>(view.dissection.ddp.atomic_operation);
    const std::size_t which = operation == wire::AtomicOperation::fetch_add      ? 0
                              : operation == wire::AtomicOperation::compare_swap ? 1
                                                                                 : 2;
    describe_fields(std::span{atomic_request_fields}.subspan(which * each, each), view.octets(), view.layer.offset,
                    visitor);
}

void describe_message(const LayerView& view, Visitor& visitor) {
    switch (view.layer.id) {
        case LayerId::rdmap_read_request:
        case LayerId::rdmap_immediate: return describe_headed(view, visitor);
        case LayerId::rdmap_atomic_request: return describe_atomic_request(view, visitor);
        case LayerId::rdmap_atomic_response:
            return describe_fields(row_of(view.layer.id).fields, view.octets(), view.layer.offset, visitor);
        case LayerId::rdmap_terminate: return iwarp::describe_terminate(view, visitor);
        default: return;
    }
}

/// A message's own header is a layer of its own, but in the tree it lies below RDMAP's heading: that one shows it,
/// unless it is not required itself.
void describe_unless_within(const LayerView& view, Visitor& visitor) {
    if (!view.wanted.contains(LayerId::rdmap)) describe_message(view, visitor);
}

void describe_rdmap(const LayerView& view, Visitor& visitor) {
    const base::Bytes octets = view.octets();
    const std::uint32_t at = view.layer.offset;
    const std::uint8_t opcode = view.dissection.ddp.opcode;
    visitor.open(rdmap_layer.heading, {0, octets, {}}, {at, view.layer.length});
    visitor.open(control_fields[0], {0, octets.first(1), {}}, {at, 1});
    describe_fields(std::span{control_fields}.subspan(1, 3), octets.first(1), at, visitor);
    visitor.close();
    if (octets.size() == 5) {
        const bool names_nothing = opcode == 1 || opcode == 3 || opcode == 5 || opcode == 7;
        if (wire::rdmap_invalidates(opcode))
            visitor.field(invalidate_field, {base::load_be32(octets.data() + 1), {}, {}}, {at + 1, 4});
        else if (names_nothing)
            visitor.field(reserved_field, {0, octets.subspan(1), {}}, {at + 1, 4});
    }
    const unsigned next = view.layer.depth + 1u;
    if (next < view.dissection.layer_count) {
        const LayerRef& message = view.dissection.layers[next];
        if (view.wanted.contains(message.id))
            describe_message({view.dissection, message, view.bytes, view.wanted}, visitor);
    }
    visitor.close();
}

constexpr wire::FieldInfo ulp_payload_fields[] = {
    {"data.data", "Data", 0, 0, wire::Kind::bytes},
    {"data.len", "Length", 0, 0, wire::Kind::uint32},
};

void describe_ulp_payload(const LayerView& view, Visitor& visitor) {
    const Extent extent{view.layer.offset, view.layer.length};
    visitor.field(ulp_payload_fields[0], {0, view.octets(), {}}, extent);
    visitor.field(ulp_payload_fields[1], {view.layer.wire_length, {}, {}}, extent);
}

}  // namespace

constinit const LayerRow rdmap_layer{
    "rdmap", &protocol::ddp_rdmap, {"iwarp_rdma", "RDMAP header"}, parse_rdmap, describe_rdmap, {}, control_fields};
constinit const LayerRow rdmap_read_request_layer{"rdmap_read_request",
                                                  &protocol::ddp_rdmap,
                                                  {"iwarp_rdma.rr", "Read request"},
                                                  parse_read_request,
                                                  describe_unless_within,
                                                  wire::field_table<wire::RdmapReadRequest>,
                                                  {}};
constinit const LayerRow rdmap_atomic_request_layer{"rdmap_atomic_request", &protocol::ddp_rdmap,   {},
                                                    parse_atomic_request,   describe_unless_within, {},
                                                    atomic_request_fields};
constinit const LayerRow rdmap_atomic_response_layer{"rdmap_atomic_response",
                                                     &protocol::ddp_rdmap,
                                                     {},
                                                     parse_atomic_response,
                                                     describe_unless_within,
                                                     wire::field_table<wire::RdmapAtomicResponse>,
                                                     {}};
constinit const LayerRow rdmap_immediate_layer{"rdmap_immediate",
                                               &protocol::ddp_rdmap,
                                               {"rdma.immediate", "Immediate Data"},
                                               parse_immediate,
                                               describe_unless_within,
                                               wire::field_table<wire::RdmapImmediate>,
                                               {}};
constinit const LayerRow ulp_payload_layer{
    "ulp_payload", &protocol::data, {}, parse_ulp_payload, describe_ulp_payload, {}, ulp_payload_fields};

}  // namespace dissect::layers
