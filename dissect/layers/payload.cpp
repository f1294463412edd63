#include "dissect/layers/payload.h"

#include <algorithm>

#include "dissect/layer_table.h"
#include "dissect/layers/protocols.h"
#include "wire/bth.h"
#include "wire/mad.h"

namespace dissect::inline layers {
namespace {

constexpr wire::FieldInfo payload_fields[] = {
    {"data.data", "Data", 0, 0, wire::Kind::bytes},
    {"data.len", "Length", 0, 0, wire::Kind::uint32},
    {.name = "infiniband.payload", .label = "Payload", .kind = wire::Kind::bytes, .hidden = true},
};

/// Datagrams from or to the management queue pairs. IBTA vol. 1, 13.5.1.
bool is_management(const Context& context) {
    const BthSummary& bth = context.out.bth;
    return context.out.present.contains(LayerId::deth) &&
           (wire::is_management_qp(bth.destination_qp) || wire::is_management_qp(bth.source_qp));
}

/// Records the payload as far as it was captured and goes on to the CRCs; false where the snap length cut it. The CRCs
/// are recorded first: they stand below the heading of the transport, the payload below one of its own.
bool take_payload(Context& context) {
    BthSummary& bth = context.out.bth;
    const std::uint32_t offset = context.offset;
    bth.payload_offset = offset;
    bth.payload_length = context.remaining() - bth.pad_count;
    const std::uint32_t captured = std::min(bth.payload_length, context.available());
    const bool whole = captured == bth.payload_length;
    if (!whole)
        context.stop_short(LayerId::payload, bth.payload_length);
    else
        for (LayerId next = after_payload(context); next != LayerId::none;) next = row_of(next).parse(context);
    if (bth.payload_length != 0) context.record(LayerId::payload, offset, captured, bth.payload_length);
    return whole;
}

LayerId parse_payload(Context& context) {
    BthSummary& bth = context.out.bth;
    if (bth.pad_count > context.remaining()) [[unlikely]]
        return context.stop(Outcome::malformed, Reason::bad_pad_count, LayerId::bth, context.offset, bth.pad_count);
    if (is_management(context) && context.remaining() > bth.pad_count) return LayerId::mad;
    if (!take_payload(context)) return LayerId::none;
    const bool unexpected = bth.payload_length != 0 && !wire::bth_opcode(bth.opcode).has_payload;
    if (unexpected || (bth.payload_length + bth.pad_count) % 4 != 0) [[unlikely]]
        context.odd(Reason::wrong_length, LayerId::payload, bth.payload_offset);
    return LayerId::none;
}

void describe_payload(const LayerView& view, Visitor& visitor) {
    const Extent extent{view.layer.offset, view.layer.length};
    visitor.field(payload_fields[0], {0, view.octets(), {}}, extent);
    visitor.field(payload_fields[1], {view.layer.wire_length, {}, {}}, extent);
    visitor.field(payload_fields[2], {0, view.octets(), {}}, extent);
}

}  // namespace

LayerId after_payload(Context& context) {
    context.offset = context.end;
    return LayerId::icrc;
}

void finish_unknown_packet(Context& context) {
    if (context.out.bth.pad_count <= context.remaining()) take_payload(context);
}

constinit const LayerRow payload_layer{"payload", &protocol::data, {}, parse_payload, describe_payload,
                                       {},        payload_fields};

}  // namespace dissect::layers
