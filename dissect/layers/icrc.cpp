#include "wire/icrc.h"

#include "dissect/layer_table.h"
#include "dissect/layers/crc_status.h"
#include "dissect/layers/protocols.h"
#include "wire/bth.h"
#include "wire/mrc.h"

namespace dissect::inline layers {
namespace {

constexpr wire::FieldInfo icrc_field{"infiniband.invariant.crc", "Invariant CRC", 0, 32,
                                     wire::Kind::uint32,         wire::Base::hex};
constexpr wire::FieldInfo icrc_status_field = crc_status_field("rdma.icrc.status", "Invariant CRC Status");

/// What the ICRC covers: the BTH and what follows it, and the headers below it down to the innermost network's. False
/// where there is none to start from.
bool find_pieces(const Context& context, std::uint32_t crc_offset, wire::IcrcPieces& pieces) {
    const auto& layers = context.out.layers;
    unsigned i = context.out.layer_count;
    do {
        if (i-- == 0) return false;
    } while (layers[i].id != LayerId::bth);
    pieces.transport = {context.at(layers[i].offset), crc_offset - layers[i].offset};
    if (i == 0) return false;

    const LayerRef& below = layers[--i];
    if (below.id == LayerId::lrh) {
        pieces.lrh = {context.at(below.offset), below.length};
        return true;
    }
    if (below.id == LayerId::grh) {
        pieces.network = {context.at(below.offset), below.length};
        return true;
    }
    if (below.id != LayerId::udp) return false;
    pieces.udp = {context.at(below.offset), below.length};
    while (i-- > 0) {
        if (layers[i].id != LayerId::ipv4 && layers[i].id != LayerId::ipv6) continue;
        pieces.network = {context.at(layers[i].offset), below.offset - layers[i].offset};
        return true;
    }
    return false;
}

CrcStatus verify(const Context& context, std::uint32_t crc_offset) {
    // Two readings of MRC's specification differ in what the ICRC covers, and no capture of an adapter decides.
    const std::uint8_t opcode = context.out.bth.opcode;
    if (opcode >= wire::first_manufacturer_opcode && !wire::name_of(wire::mrc_opcode_names, opcode).empty())
        return CrcStatus::unchecked;
    wire::IcrcPieces pieces;
    if (!context.options.verify_crc || !find_pieces(context, crc_offset, pieces)) return CrcStatus::unchecked;
    return wire::icrc(pieces) == base::load_be32(context.at(crc_offset)) ? CrcStatus::good : CrcStatus::bad;
}

/// The bytes before were captured, or the parsers of the layers before would have stopped.
LayerId parse_icrc(Context& context) {
    const std::uint32_t crc_offset = context.end;
    context.offset = crc_offset;
    context.end += wire::icrc_octets;
    if (context.take(LayerId::icrc, wire::icrc_octets) == nullptr) return LayerId::none;
    context.out.bth.icrc = verify(context, crc_offset);
    return context.out.has(LayerId::lrh) ? LayerId::vcrc : LayerId::none;
}

void describe_icrc(const LayerView& view, Visitor& visitor) {
    const Extent extent{view.layer.offset, view.layer.length};
    visitor.field(icrc_field, value_of(icrc_field, view.octets()), extent);
    visitor.field(icrc_status_field, {number_of(view.dissection.bth.icrc), {}, {}}, extent);
}

}  // namespace

constinit const LayerRow icrc_layer{"icrc",           &protocol::infiniband,  {}, parse_icrc, describe_icrc,
                                    {&icrc_field, 1}, {&icrc_status_field, 1}};

}  // namespace dissect::layers
