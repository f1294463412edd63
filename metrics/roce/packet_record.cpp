#include "metrics/roce/packet_record.h"

#include "metrics/flow/flow_table.h"
#include "wire/bth_opcode.h"

namespace metrics {

namespace {

Service service_of(wire::BthService service) {
    switch (service) {
        case wire::BthService::uc: return Service::uc;
        case wire::BthService::rd: return Service::rd;
        case wire::BthService::ud: return Service::ud;
        case wire::BthService::xrc: return Service::xrc;
        default: return Service::rc;
    }
}

}  // namespace

bool make_record(const dissect::Unit& unit, const FrameContext& context, PacketRecord& out) {
    const dissect::Dissection& dissection = unit.dissection;
    if (!dissection.has(dissect::LayerId::bth)) return false;
    const dissect::BthSummary& bth = dissection.bth;
    const wire::BthOpcode& opcode = wire::bth_opcode(bth.opcode);
    if (!opcode.known()) return false;
    out.key.source = source_address(dissection, unit.bytes);
    out.key.destination = destination_address(dissection, unit.bytes);
    out.key.selector = bth.destination_qp;
    out.key.transport = unit.transport;
    out.key.service = service_of(opcode.service);
    out.hash = hash_of(out.key);
    out.flow = 0xffffffff;
    out.time_ns = unit.frame.time_ns;
    out.frame = unit.frame.number;
    out.context = context;
    out.interface = unit.frame.interface;
    out.psn = bth.psn;
    out.wire_length = unit.frame.wire_length;
    out.overhead = unit.transport == dissect::Transport::infiniband ? 0 : ethernet_overhead;
    out.payload_length = bth.payload_length;
    out.opcode = bth.opcode;
    out.traffic_class = dissection.network.traffic_class;
    const bool routed = dissection.network.family == dissect::Network::Family::ipv4 ||
                        dissection.network.family == dissect::Network::Family::ipv6;
    out.hop_limit = routed ? dissection.network.hop_limit : std::uint8_t{0};
    out.direction = unit.frame.direction;
    out.becn = bth.becn;
    out.crc_bad = bth.icrc == dissect::CrcStatus::bad || bth.vcrc == dissect::CrcStatus::bad;
    // A header that the snap length or the end of the packet cut has no values.
    const bool reth = dissection.has(dissect::LayerId::reth);
    out.has_remote_key = reth || dissection.has(dissect::LayerId::atomiceth);
    out.dma_length = reth ? bth.dma_length : 0;
    out.remote_key = out.has_remote_key ? bth.remote_key : 0;
    out.virtual_address = out.has_remote_key ? bth.virtual_address : 0;
    out.source_qp = dissection.has(dissect::LayerId::deth) ? bth.source_qp : 0xffffffff;
    out.syndrome = dissection.has(dissect::LayerId::aeth) ? bth.syndrome : 0;
    return true;
}

}  // namespace metrics
