#include "wire/icrc.h"

#include "dissect/layer_table.h"
#include "dissect/layers/crc_status.h"
#include "dissect/layers/protocols.h"
#include "wire/bth.h"
#include "wire/grh.h"

namespace dissect {
namespace {

constexpr wire::FieldInfo crc_field{"infiniband.invariant.crc", "Invariant CRC", 0, 32, wire::Kind::uint32, wire::Base::hex};
constexpr wire::FieldInfo status_field = crc_status_field("rdma.icrc.status", "Invariant CRC Status");

/// What the ICRC covers: the layers around the BTH, from the innermost network header on. False where there is none to
/// start from.
bool find_pieces(const Context& context, std::uint32_t crc_offset, wire::IcrcPieces& pieces) {
    const Dissection& found = context.out;
    std::uint32_t network_end = 0;
    for (unsigned i = found.layer_count; i-- > 0;) {
        const LayerRef& layer = found.layers[i];
        const wire::Bytes octets{context.at(layer.offset), layer.length};
        switch (layer.id) {
            case LayerId::bth:
                pieces.transport = {context.at(layer.offset), crc_offset - layer.offset};
                network_end = layer.offset;
                break;
            case LayerId::udp:
                pieces.udp = octets;
                network_end = layer.offset;
                break;
            case LayerId::grh:
            case LayerId::ipv4:
            case LayerId::ipv6:
                pieces.network = {context.at(layer.offset), network_end - layer.offset};
                return layer.length >= 20;
            case LayerId::lrh:
                pieces.lrh = octets;
                return true;
            default: break;
        }
    }
    return false;
}

CrcStatus verify(const Context& context, std::uint32_t crc_offset) {
    wire::IcrcPieces pieces;
    if (!context.options.verify_crc || !find_pieces(context, crc_offset, pieces)) return CrcStatus::unchecked;
    return wire::icrc(pieces) == wire::load_be32(context.at(crc_offset)) ? CrcStatus::good : CrcStatus::bad;
}

/// The octets before were captured, or the parsers of the layers before would have stopped.
LayerId parse(Context& context) {
    const std::uint32_t crc_offset = context.end;
    context.offset = crc_offset;
    context.end += wire::icrc_octets;
    if (context.take(LayerId::icrc, wire::icrc_octets) == nullptr) return LayerId::none;
    context.out.bth.icrc = verify(context, crc_offset);
    return context.out.has(LayerId::lrh) ? LayerId::vcrc : LayerId::none;
}

void describe(const LayerView& view, Visitor& visitor) {
    const Extent extent{view.layer.offset, view.layer.length};
    visitor.field(crc_field, value_of(crc_field, view.octets()), extent);
    visitor.field(status_field, {number_of(view.dissection.bth.icrc), {}, {}}, extent);
}

}  // namespace

constinit const LayerRow icrc_layer{"icrc", &protocol::infiniband, {}, parse, describe, {&crc_field, 1}, {&status_field, 1}};

}  // namespace dissect
