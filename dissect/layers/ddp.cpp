#include "wire/ddp.h"

#include "dissect/layer_table.h"
#include "dissect/layers/protocols.h"

namespace dissect::inline layers {
namespace {

/// Version and reserved bits, the same in both buffer models. Returns whether the rest can be trusted.
bool check_control(Context& context, LayerId id, std::uint32_t at) {
    const auto control = wire::View<wire::DdpControl>::unchecked(context.at(at));
    context.out.ddp.last = control.get<&wire::DdpControl::last>();
    if (control.get<&wire::DdpControl::version>() != wire::ddp_version) [[unlikely]] {
        context.stop(Outcome::unsupported, Reason::bad_version, id, at, 0);
        return false;
    }
    if (control.get<&wire::DdpControl::reserved>() != 0) [[unlikely]]
        context.odd(Reason::reserved_not_zero, id, at);
    return true;
}

/// Of a header that the snap length cut, the operation may still be there.
LayerId note_cut_header(Context& context, std::uint32_t at) {
    if (context.captured() < at + 2) return LayerId::none;
    const auto control = wire::View<wire::DdpControl>::unchecked(context.at(at));
    context.out.ddp.tagged = control.get<&wire::DdpControl::tagged>();
    context.out.ddp.last = control.get<&wire::DdpControl::last>();
    context.out.ddp.opcode = base::load_u8(context.at(at + 1)) & 0x0f;
    return LayerId::none;
}

LayerId parse_tagged(Context& context) {
    const std::uint32_t at = context.offset;
    const std::byte* header = context.take(LayerId::ddp_tagged, wire::ddp_tagged_size);
    if (header == nullptr) return note_cut_header(context, at);
    if (!check_control(context, LayerId::ddp_tagged, at)) return LayerId::none;
    const auto buffer = wire::View<wire::DdpTaggedBuffer>::unchecked(header + 2);
    DdpSummary& ddp = context.out.ddp;
    ddp.tagged = true;
    ddp.stag = buffer.get<&wire::DdpTaggedBuffer::stag>();
    ddp.tagged_offset = buffer.get<&wire::DdpTaggedBuffer::offset>();
    return LayerId::rdmap;
}

LayerId parse_untagged(Context& context) {
    const std::uint32_t at = context.offset;
    const std::byte* header = context.take(LayerId::ddp_untagged, wire::ddp_untagged_size);
    if (header == nullptr) return note_cut_header(context, at);
    if (!check_control(context, LayerId::ddp_untagged, at)) return LayerId::none;
    const auto buffer = wire::View<wire::DdpUntaggedBuffer>::unchecked(header + 6);
    DdpSummary& ddp = context.out.ddp;
    ddp.tagged = false;
    ddp.queue = buffer.get<&wire::DdpUntaggedBuffer::queue>();
    ddp.msn = buffer.get<&wire::DdpUntaggedBuffer::msn>();
    ddp.message_offset = buffer.get<&wire::DdpUntaggedBuffer::offset>();
    return LayerId::rdmap;
}

// The declarations that are visited are the very ones that the rows list: the registry knows a field by its address.
constexpr wire::FieldInfo ddp_tagged_fields[] = {
    {"iwarp_ddp.control_field", "DDP control field"}, wire::field_table<wire::DdpControl>[0],
    wire::field_table<wire::DdpControl>[1],           wire::field_table<wire::DdpControl>[2],
    wire::field_table<wire::DdpControl>[3],           {"iwarp_ddp.tagged", "Tagged buffer model" },
    wire::field_table<wire::DdpTaggedBuffer>[0],      wire::field_table<wire::DdpTaggedBuffer>[1],
};
constexpr wire::FieldInfo ddp_untagged_fields[] = {
    {"iwarp_ddp.control_field", "DDP control field"},
    wire::field_table<wire::DdpControl>[0],
    wire::field_table<wire::DdpControl>[1],
    wire::field_table<wire::DdpControl>[2],
    wire::field_table<wire::DdpControl>[3],
    { "iwarp_ddp.untagged", "Untagged buffer model" },
    wire::field_table<wire::DdpUntaggedBuffer>[0],
    wire::field_table<wire::DdpUntaggedBuffer>[1],
    wire::field_table<wire::DdpUntaggedBuffer>[2],
    { "iwarp_ddp.rsvdulp", "Reserved for use by the ULP", 8, 40, wire::Kind::bytes },
};
constexpr std::size_t buffer_heading = 5;
constexpr const wire::FieldInfo& ulp_field = ddp_untagged_fields[9];

void describe_header(const LayerView& view, Visitor& visitor) {
    const base::Bytes octets = view.octets();
    const std::uint32_t at = view.layer.offset;
    const bool tagged = view.layer.id == LayerId::ddp_tagged;
    const std::span<const wire::FieldInfo> fields =
        tagged ? std::span<const wire::FieldInfo>{ddp_tagged_fields} : std::span{ddp_untagged_fields}.first(9);
    const std::uint32_t buffer_at = tagged ? 2 : 6;
    visitor.open(row_of(view.layer.id).heading, {0, octets, {}}, {at, view.layer.length});
    visitor.open(fields[0], {0, octets.first(1), {}}, {at, 1});
    describe_fields(fields.subspan(1, 4), octets.first(1), at, visitor);
    visitor.close();
    if (!tagged) visitor.field(ulp_field, value_of(ulp_field, octets), {at + 1, 5});
    const base::Bytes buffer = octets.subspan(buffer_at);
    visitor.open(fields[buffer_heading], {0, buffer, {}}, {at + buffer_at, static_cast<std::uint32_t>(buffer.size())});
    describe_fields(fields.subspan(buffer_heading + 1), buffer, at + buffer_at, visitor);
    visitor.close();
    visitor.close();
}

}  // namespace

constinit const LayerRow ddp_tagged_layer{"ddp_tagged",     &protocol::ddp_rdmap, {"iwarp_ddp", "DDP header"},
                                          parse_tagged,     describe_header,      {},
                                          ddp_tagged_fields};
constinit const LayerRow ddp_untagged_layer{"ddp_untagged",     &protocol::ddp_rdmap, {"iwarp_ddp", "DDP header"},
                                            parse_untagged,     describe_header,      {},
                                            ddp_untagged_fields};

}  // namespace dissect::layers
