#include "wire/bth.h"

#include <array>

#include "dissect/layer_table.h"
#include "dissect/layers/payload.h"
#include "dissect/layers/protocols.h"

namespace dissect::inline layers {
namespace {

constexpr LayerId layer_of(wire::ExtendedHeader header) {
    using enum wire::ExtendedHeader;
    switch (header) {
        case rdeth: return LayerId::rdeth;
        case deth: return LayerId::deth;
        case xrceth: return LayerId::xrceth;
        case reth: return LayerId::reth;
        case atomiceth: return LayerId::atomiceth;
        case aeth: return LayerId::aeth;
        case atomicacketh: return LayerId::atomicacketh;
        case immdt: return LayerId::immdt;
        case ieth: return LayerId::ieth;
        case feth: return LayerId::feth;
        case atomic_write: return LayerId::atomic_write;
        case cnp: return LayerId::cnp;
        case none: break;
    }
    return LayerId::none;
}

constexpr std::array<LayerId, 13> extended_layers = [] {
    std::array<LayerId, 13> table{};
    for (unsigned i = 0; i < table.size(); ++i) table[i] = layer_of(static_cast<wire::ExtendedHeader>(i));
    return table;
}();

void summarise_bth(const std::byte* first, BthSummary& out) {
    const auto bth = wire::View<wire::Bth>::unchecked(first);
    out.opcode = bth.get<&wire::Bth::opcode>();
    out.solicited_event = bth.get<&wire::Bth::solicited_event>();
    out.ack_request = bth.get<&wire::Bth::ack_request>();
    out.fecn = bth.get<&wire::Bth::fecn>();
    out.becn = bth.get<&wire::Bth::becn>();
    out.pad_count = bth.get<&wire::Bth::pad_count>();
    out.partition_key = bth.get<&wire::Bth::partition_key>();
    out.destination_qp = bth.get<&wire::Bth::destination_qp>();
    out.psn = bth.get<&wire::Bth::psn>();
    out.payload_length = 0;
    out.icrc = CrcStatus::absent;
    out.vcrc = CrcStatus::absent;
}

/// Leaves `context.end` where the pad bytes end, before the ICRC.
LayerId parse_bth(Context& context) {
    const std::uint32_t at = context.offset;
    const std::byte* const first = context.take(LayerId::bth, wire::size_of<wire::Bth>);
    if (first == nullptr) return LayerId::none;
    BthSummary& bth = context.out.bth;
    summarise_bth(first, bth);
    // A receiver drops it, silently. IBTA vol. 1, 9.6.
    if (wire::View<wire::Bth>::unchecked(first).get<&wire::Bth::header_version>() != 0) [[unlikely]]
        context.odd(Reason::bad_version, LayerId::bth, at + 1);
    if (context.remaining() < wire::icrc_octets) [[unlikely]]
        return context.stop(Outcome::malformed, Reason::missing_icrc, LayerId::bth, context.offset, wire::icrc_octets);
    context.end -= wire::icrc_octets;

    const wire::BthOpcode& opcode = wire::bth_opcode(bth.opcode);
    const std::uint32_t overhead = opcode.header_octets + bth.pad_count;
    bth.payload_offset = context.offset + opcode.header_octets;
    if (context.remaining() > overhead) bth.payload_length = context.remaining() - overhead;
    if (!opcode.known()) [[unlikely]] {
        context.stop(Outcome::unsupported, Reason::unknown_opcode, LayerId::bth, at, 0);
        finish_unknown_packet(context);
        return LayerId::none;
    }
    for (unsigned i = 0; i < opcode.header_count; ++i)
        context.announce(extended_layers[static_cast<unsigned>(opcode.headers[i])]);
    context.announce(LayerId::payload);
    return context.next_announced();
}

}  // namespace

constinit const LayerRow bth_layer{
    "bth", &protocol::infiniband, wire::heading_of<wire::Bth>(), parse_bth, nullptr, wire::bth_fields, {}};

}  // namespace dissect::layers
