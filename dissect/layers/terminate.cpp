#include "wire/terminate.h"

#include "dissect/layer_table.h"
#include "dissect/layers/iwarp.h"
#include "dissect/layers/protocols.h"

namespace dissect::inline layers {
namespace {

using wire::Base;
using wire::FieldInfo;
using wire::Kind;

/// The header of a segment that was at fault counts everything after MPA's length; siw counts the payload alone, so
/// a length that cannot hold the header itself shows that.
void check_segment_length(Context& context, const wire::TerminateParts& parts, const std::byte* first,
                          std::uint32_t at) {
    if (parts.segment_length.size == 0) return;
    const std::uint32_t length = base::load_be16(first + parts.segment_length.offset);
    if (parts.byte_swapped || (parts.ddp_header.size != 0 && length < parts.ddp_header.size))
        context.odd(Reason::wrong_length, LayerId::rdmap_terminate, at + parts.segment_length.offset);
}

LayerId parse_terminate(Context& context) {
    const std::uint32_t at = context.offset;
    const std::uint32_t there = context.available();
    if (there < wire::terminate_control_size)
        return context.stop_short(LayerId::rdmap_terminate, wire::terminate_control_size);
    const std::byte* first = context.at(at);
    const auto parts = *wire::parse_terminate({first, there});
    context.record(LayerId::rdmap_terminate, at, std::min<std::uint32_t>(there, parts.wanted), parts.wanted);
    DdpSummary& ddp = context.out.ddp;
    ddp.terminate_layer = parts.control.layer;
    ddp.terminate_type = parts.control.type;
    ddp.terminate_code = parts.control.code;
    if (there < parts.wanted) return context.stop_short(LayerId::rdmap_terminate, parts.wanted);
    if (parts.byte_swapped)
        context.odd(Reason::byte_swapped, LayerId::rdmap_terminate, at + 2);
    else if (parts.control.reserved != 0)
        context.odd(Reason::reserved_not_zero, LayerId::rdmap_terminate, at + 2);
    check_segment_length(context, parts, first, at);
    if (context.remaining() != parts.wanted) context.odd(Reason::wrong_length, LayerId::rdmap_terminate, at);
    context.offset += parts.wanted;
    return iwarp::finish_unit(context);
}

// The declarations that are visited are the very ones that the row lists: the registry knows a field by its address.
constexpr std::size_t type_fields_at = 10;
constexpr std::size_t code_fields_at = 13;
constexpr std::size_t parts_at = 17;
constexpr FieldInfo fields[] = {
    {"iwarp_rdma.term_ctrl", "Terminate Control"},
    wire::field_table<wire::TerminateControl>[0],
    wire::field_table<wire::TerminateControl>[1],
    wire::field_table<wire::TerminateControl>[2],
    { "iwarp_rdma.term_hdrct", "Header control bits" },
    wire::field_table<wire::TerminateControl>[3],
    wire::field_table<wire::TerminateControl>[4],
    wire::field_table<wire::TerminateControl>[5],
    wire::field_table<wire::TerminateControl>[6],
    { "rdma.terminate.byte_swapped", "Bit fields in the sender's byte order", 0, 0, Kind::boolean },
    wire::terminate_type_fields[0],
    wire::terminate_type_fields[1],
    wire::terminate_type_fields[2],
    wire::terminate_code_fields[0],
    wire::terminate_code_fields[1],
    wire::terminate_code_fields[2],
    wire::terminate_code_fields[3],
    { "iwarp_rdma.term_ddp_seg_len", "DDP Segment Length", 0, 0, Kind::bytes },
    { "iwarp_rdma.term_ddp_h", "Terminated DDP Header", 0, 0, Kind::bytes },
    { "iwarp_rdma.term_rdma_h", "Terminated RDMA Header", 0, 0, Kind::bytes },
    { "rdma.terminate.ddp", "Terminated DDP header, taken apart" },
    { "rdma.terminate.segment_length", "DDP Segment Length", 0, 0, Kind::uint16 },
    {"rdma.terminate.opcode", "OpCode", 12, 4, Kind::uint8, Base::hex, false, wire::rdmap_opcodes},
    {"rdma.terminate.stag", "(Data Sink) Steering Tag", 16, 32, Kind::uint32, Base::hex},
    {"rdma.terminate.tagged_offset", "(Data Sink) Tagged offset", 48, 64, Kind::uint64, Base::hex},
    {"rdma.terminate.qn", "Queue number", 48, 32, Kind::uint32},
    {"rdma.terminate.msn", "Message sequence number", 80, 32, Kind::uint32},
    {"rdma.terminate.mo", "Message offset", 112, 32, Kind::uint32},
    {"rdma.terminate.rr", "Terminated Read Request, taken apart"},
    {"rdma.terminate.sinkstag", "Data Sink STag", 0, 32, Kind::uint32, Base::hex},
    {"rdma.terminate.sinkto", "Data Sink Tagged Offset", 32, 64, Kind::uint64, Base::hex},
    {"rdma.terminate.rdmardsz", "RDMA Read Message Size", 96, 32, Kind::uint32},
    {"rdma.terminate.srcstag", "Data Source STag", 128, 32, Kind::uint32, Base::hex},
    {"rdma.terminate.srcto", "Data Source Tagged Offset", 160, 64, Kind::uint64, Base::hex},
};
constexpr const FieldInfo& swapped_field = fields[9];
constexpr const FieldInfo& ddp_heading = fields[20];
constexpr const FieldInfo& length_field = fields[21];
constexpr const FieldInfo& opcode_field = fields[22];
constexpr auto terminated_tagged_fields = std::span<const FieldInfo>{fields}.subspan(23, 2);
constexpr auto terminated_untagged_fields = std::span<const FieldInfo>{fields}.subspan(25, 3);
constexpr const FieldInfo& read_heading = fields[28];
constexpr auto read_fields = std::span<const FieldInfo>{fields}.subspan(29, 5);

const FieldInfo& type_field(std::uint8_t layer) { return layer < 3 ? fields[type_fields_at + layer] : fields[2]; }
const FieldInfo& code_field(std::uint8_t layer, std::uint8_t type) {
    const FieldInfo& meant = wire::terminate_code_field(layer, type);
    for (std::size_t i = 0; i < std::size(wire::terminate_code_fields); ++i)
        if (&meant == &wire::terminate_code_fields[i]) return fields[code_fields_at + i];
    return fields[3];
}

/// Error type and code under the names of their layer; everything as its bits are sent.
void describe_control(const LayerView& view, Visitor& visitor) {
    const base::Bytes octets = view.octets().first(wire::terminate_control_size);
    const std::uint32_t at = view.layer.offset;
    const auto control = *wire::parse<wire::TerminateControl>(octets);
    visitor.open(fields[0], {0, octets, {}}, {at, 4});
    visitor.field(fields[1], {control.layer, {}, {}}, {at, 1});
    visitor.field(type_field(control.layer), {control.type, {}, {}}, {at, 1});
    visitor.field(code_field(control.layer, control.type), {control.code, {}, {}}, {at + 1, 1});
    visitor.open(fields[4], {0, octets.subspan(2, 1), {}}, {at + 2, 1});
    describe_fields(std::span{fields}.subspan(5, 3), octets, at, visitor);
    visitor.close();
    visitor.close();
    visitor.field(fields[8], {control.reserved, {}, {}}, {at + 2, 2});
}

void describe_taken_apart(const LayerView& view, const wire::TerminateParts& parts, Visitor& visitor) {
    const std::uint32_t at = view.layer.offset;
    if (parts.ddp_header.size != 0) {
        const base::Bytes header = view.octets().subspan(parts.ddp_header.offset, parts.ddp_header.size);
        const std::uint32_t header_at = at + parts.ddp_header.offset;
        visitor.open(ddp_heading, {0, header, {}}, {header_at, parts.ddp_header.size});
        const std::uint64_t length = base::load_be16(view.octets().data() + parts.segment_length.offset);
        visitor.field(length_field, {length, {}, {}}, {at + parts.segment_length.offset, 2});
        visitor.field(opcode_field, value_of(opcode_field, header), {header_at + 1, 1});
        describe_fields(header.size() == wire::ddp_tagged_size ? terminated_tagged_fields : terminated_untagged_fields,
                        header, header_at, visitor);
        visitor.close();
    }
    if (parts.rdma_header.size != 0) {
        const base::Bytes header = view.octets().subspan(parts.rdma_header.offset, parts.rdma_header.size);
        visitor.open(read_heading, {0, header, {}}, {at + parts.rdma_header.offset, parts.rdma_header.size});
        describe_fields(read_fields, header, at + parts.rdma_header.offset, visitor);
        visitor.close();
    }
}

void describe_terminated(const LayerView& view, Visitor& visitor) {
    if (!view.wanted.contains(LayerId::rdmap)) iwarp::describe_terminate(view, visitor);
}

}  // namespace

namespace iwarp {
void describe_terminate(const LayerView& view, Visitor& visitor) {
    const base::Bytes octets = view.octets();
    const std::uint32_t at = view.layer.offset;
    const auto parts = wire::parse_terminate(octets);
    if (!parts) return;
    visitor.open(rdmap_terminate_layer.heading, {0, octets, {}}, {at, view.layer.length});
    describe_control(view, visitor);
    if (parts->byte_swapped) visitor.field(swapped_field, {1, {}, {}}, {at + 2, 1});
    const wire::TerminateParts::Part found[] = {parts->segment_length, parts->ddp_header, parts->rdma_header};
    for (std::size_t i = 0; i < std::size(found); ++i)
        if (found[i].size != 0)
            visitor.field(fields[parts_at + i], {0, octets.subspan(found[i].offset, found[i].size), {}},
                          {at + found[i].offset, found[i].size});
    describe_taken_apart(view, *parts, visitor);
    visitor.close();
}
}  // namespace iwarp

constinit const LayerRow rdmap_terminate_layer{"rdmap_terminate",
                                               &protocol::ddp_rdmap,
                                               {"iwarp_rdma.terminate", "Terminate"},
                                               parse_terminate,
                                               describe_terminated,
                                               {},
                                               fields};

}  // namespace dissect::layers
