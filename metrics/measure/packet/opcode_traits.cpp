#include "metrics/measure/packet/opcode_traits.h"

#include "metrics/measure/packet/packet_operation.h"

namespace metrics::inline measure::inline packet {

namespace {

OpcodeTraits::Way way_of(const wire::BthOpcode& opcode) {
    if (opcode.service != wire::BthService::rc) return OpcodeTraits::Way::general;
    switch (opcode.operation) {
        case wire::BthOperation::send:
        case wire::BthOperation::write: return OpcodeTraits::Way::request;
        case wire::BthOperation::acknowledge: return OpcodeTraits::Way::acknowledgement;
        default: return OpcodeTraits::Way::general;
    }
}

std::array<OpcodeTraits, 256> make_traits() {
    std::array<OpcodeTraits, 256> all;
    for (unsigned number = 0; number < all.size(); ++number) {
        const wire::BthOpcode& opcode = wire::bth_opcode(static_cast<std::uint8_t>(number));
        OpcodeTraits& traits = all[number];
        traits.way = way_of(opcode);
        traits.service = service_of(opcode.service);
        traits.operation = operation_of(opcode);
        traits.header_octets = static_cast<std::uint8_t>(12u + opcode.header_octets);
        traits.known = opcode.known();
        traits.has_payload = opcode.has_payload;
        traits.requests = opcode.role == wire::BthRole::request;
        traits.has_data = traits.requests || opcode.role == wire::BthRole::response;
        traits.starts = opcode.starts_message();
        traits.ends = opcode.ends_message();
        traits.has_reth = opcode.has(wire::ExtendedHeader::reth);
        traits.has_deth = opcode.has(wire::ExtendedHeader::deth);
        traits.takes_receive =
            traits.starts && (opcode.operation == wire::BthOperation::send || opcode.has_immediate());
    }
    return all;
}

}  // namespace

// wire::bth_opcodes, the source of this table, exists before anything is initialised at run time.
const std::array<OpcodeTraits, 256> opcode_traits = make_traits();

Service service_of(wire::BthService service) {
    switch (service) {
        case wire::BthService::uc: return Service::uc;
        case wire::BthService::rd: return Service::rd;
        case wire::BthService::ud: return Service::ud;
        case wire::BthService::xrc: return Service::xrc;
        default: return Service::rc;
    }
}

}  // namespace metrics::measure::packet
