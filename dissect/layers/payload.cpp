#include "dissect/layers/payload.h"

#include <algorithm>

#include "dissect/layer_table.h"
#include "dissect/layers/protocols.h"
#include "wire/bth.h"
#include "wire/mad.h"

namespace dissect {
namespace {

constexpr wire::FieldInfo payload_field{"infiniband.payload", "Payload", 0, 0, wire::Kind::bytes};

/// Datagrams from or to the management queue pairs. IBTA vol. 1, 13.5.1.
bool is_management(const Context& context) {
    const BthSummary& bth = context.out.bth;
    return context.out.present.contains(LayerId::deth) &&
           (wire::is_management_qp(bth.destination_qp) || wire::is_management_qp(bth.source_qp));
}

/// Records the payload as far as it was captured; false where the snap length cut it.
bool record_payload(Context& context) {
    BthSummary& bth = context.out.bth;
    bth.payload_offset = context.offset;
    bth.payload_length = context.remaining() - bth.pad_count;
    if (bth.payload_length == 0) return true;
    const std::uint32_t captured = std::min(bth.payload_length, context.available());
    context.record(LayerId::payload, context.offset, captured, bth.payload_length);
    if (captured == bth.payload_length) return true;
    context.stop_short(LayerId::payload, bth.payload_length);
    return false;
}

LayerId parse(Context& context) {
    BthSummary& bth = context.out.bth;
    if (bth.pad_count > context.remaining()) [[unlikely]]
        return context.stop(Outcome::malformed, Reason::bad_pad_count, LayerId::bth, context.offset, bth.pad_count);
    if (is_management(context) && context.remaining() > bth.pad_count) return LayerId::mad;
    if (!record_payload(context)) return LayerId::none;
    const bool unexpected = bth.payload_length != 0 && !wire::bth_opcode(bth.opcode).has_payload;
    if (unexpected || (bth.payload_length + bth.pad_count) % 4 != 0) [[unlikely]]
        context.odd(Reason::wrong_length, LayerId::payload, bth.payload_offset);
    return after_payload(context);
}

void describe(const LayerView& view, Visitor& visitor) {
    visitor.field(payload_field, {0, view.octets(), {}}, {view.layer.offset, view.layer.length});
}

}  // namespace

LayerId after_payload(Context& context) {
    context.offset = context.end;
    return LayerId::icrc;
}

void finish_unknown_packet(Context& context) {
    if (context.out.bth.pad_count > context.remaining() || !record_payload(context)) return;
    for (LayerId next = after_payload(context); next != LayerId::none;) next = row_of(next).parse(context);
}

constinit const LayerRow payload_layer{"payload", &protocol::infiniband, {}, parse, describe, {}, {&payload_field, 1}};

}  // namespace dissect
