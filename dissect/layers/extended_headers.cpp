/// The extended transport headers: each is claimed, its values noted, and the next of those that the BTH's opcode has
/// announced is returned.
#include <array>
#include <span>

#include "dissect/layer_table.h"
#include "dissect/layers/protocols.h"
#include "wire/aeth.h"
#include "wire/atomic_write.h"
#include "wire/atomicacketh.h"
#include "wire/atomiceth.h"
#include "wire/cnp.h"
#include "wire/deth.h"
#include "wire/feth.h"
#include "wire/ieth.h"
#include "wire/immdt.h"
#include "wire/rdeth.h"
#include "wire/reth.h"
#include "wire/xrceth.h"

namespace dissect::inline layers {
namespace {

void note(wire::View<wire::Rdeth>, Context&) {}
void note(wire::View<wire::Feth>, Context&) {}
void note(wire::View<wire::Cnp>, Context&) {}

void note(wire::View<wire::Deth> header, Context& context) {
    BthSummary& bth = context.out.bth;
    bth.queue_key = header.get<&wire::Deth::queue_key>();
    bth.source_qp = header.get<&wire::Deth::source_qp>();
}
void note(wire::View<wire::Xrceth> header, Context& context) {
    context.out.bth.xrc_srq = header.get<&wire::Xrceth::srq>();
}
void note(wire::View<wire::Reth> header, Context& context) {
    BthSummary& bth = context.out.bth;
    bth.virtual_address = header.get<&wire::Reth::virtual_address>();
    bth.remote_key = header.get<&wire::Reth::remote_key>();
    bth.dma_length = header.get<&wire::Reth::dma_length>();
}
void note(wire::View<wire::AtomicEth> header, Context& context) {
    BthSummary& bth = context.out.bth;
    bth.virtual_address = header.get<&wire::AtomicEth::virtual_address>();
    bth.remote_key = header.get<&wire::AtomicEth::remote_key>();
    bth.swap_or_add = header.get<&wire::AtomicEth::swap_or_add>();
    bth.compare = header.get<&wire::AtomicEth::compare>();
}
void note(wire::View<wire::Aeth> header, Context& context) {
    context.out.bth.syndrome = header.get<&wire::Aeth::syndrome>();
    context.out.bth.msn = header.get<&wire::Aeth::msn>();
}
void note(wire::View<wire::AtomicAckEth> header, Context& context) {
    context.out.bth.original_data = header.get<&wire::AtomicAckEth::original_data>();
}
void note(wire::View<wire::ImmDt> header, Context& context) {
    context.out.bth.immediate = base::load_be32(header.data());
}
void note(wire::View<wire::Ieth> header, Context& context) {
    context.out.bth.invalidated_key = base::load_be32(header.data());
}
void note(wire::View<wire::AtomicWrite> header, Context& context) {
    context.out.bth.swap_or_add = header.get<&wire::AtomicWrite::data>();
}

template <class H, LayerId Id>
LayerId parse_extended_header(Context& context) {
    const std::byte* const first = context.take(Id, wire::size_of<H>);
    if (first == nullptr) return LayerId::none;
    note(wire::View<H>::unchecked(first), context);
    return context.next_announced();
}

/// The parts of the syndrome; which of the last four is there depends on the second.
constexpr std::array syndrome_parts{wire::aeth_reserved, wire::aeth_kind,           wire::aeth_credit_count,
                                    wire::aeth_timer,    wire::aeth_reserved_value, wire::aeth_error_code};

/// Which meaning the syndrome's low five bits have. IBTA vol. 1, 9.7.5.2.
const wire::FieldInfo& syndrome_value(std::uint8_t syndrome) {
    return syndrome_parts[2 + static_cast<unsigned>(wire::kind_of_syndrome(syndrome))];
}

void describe_aeth(const LayerView& view, Visitor& visitor) {
    constexpr std::span fields = wire::field_table<wire::Aeth>;
    const base::Bytes octets = view.octets();
    const std::uint32_t at = view.layer.offset;
    const std::uint8_t syndrome = base::load_u8(octets.data());
    visitor.open(aeth_layer.heading, {0, octets, {}}, {at, view.layer.length});
    visitor.open(fields.front(), {syndrome, {}, {}}, {at, 1});
    describe_fields(std::span{syndrome_parts}.first(2), octets, at, visitor);
    describe_fields({&syndrome_value(syndrome), 1}, octets, at, visitor);
    visitor.close();
    describe_fields(fields.subspan(1), octets, at, visitor);
    visitor.close();
}

}  // namespace

#define RDMASCOPE_HEADER(name, Header, fields)                                                                  \
    constinit const LayerRow name##_layer {                                                                     \
#name, &protocol::infiniband, wire::heading_of < wire::Header>(), parse_extended_header < wire::Header, \
            LayerId::name>, nullptr, fields, {}                                                                 \
    }

RDMASCOPE_HEADER(rdeth, Rdeth, wire::rdeth_fields);
RDMASCOPE_HEADER(deth, Deth, wire::deth_fields);
RDMASCOPE_HEADER(xrceth, Xrceth, wire::field_table<wire::Xrceth>);
RDMASCOPE_HEADER(reth, Reth, wire::field_table<wire::Reth>);
RDMASCOPE_HEADER(atomiceth, AtomicEth, wire::field_table<wire::AtomicEth>);
RDMASCOPE_HEADER(atomicacketh, AtomicAckEth, wire::field_table<wire::AtomicAckEth>);
RDMASCOPE_HEADER(immdt, ImmDt, wire::field_table<wire::ImmDt>);
RDMASCOPE_HEADER(ieth, Ieth, wire::field_table<wire::Ieth>);
RDMASCOPE_HEADER(feth, Feth, wire::field_table<wire::Feth>);
RDMASCOPE_HEADER(atomic_write, AtomicWrite, wire::field_table<wire::AtomicWrite>);
RDMASCOPE_HEADER(cnp, Cnp, wire::field_table<wire::Cnp>);
#undef RDMASCOPE_HEADER

constinit const LayerRow aeth_layer{"aeth",
                                    &protocol::infiniband,
                                    wire::heading_of<wire::Aeth>(),
                                    parse_extended_header<wire::Aeth, LayerId::aeth>,
                                    describe_aeth,
                                    wire::field_table<wire::Aeth>,
                                    syndrome_parts};

}  // namespace dissect::layers
