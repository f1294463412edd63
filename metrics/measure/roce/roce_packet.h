#pragma once
#include "metrics/measure/flow/flow.h"
#include "metrics/measure/packet/packet_record.h"
#include "wire/bth_opcode.h"

namespace metrics::inline measure::inline roce {

/// A packet in the form that the trackers of single kinds of packets receive.
struct RocePacket {
    const PacketRecord& record;
    const wire::BthOpcode& opcode;
    FlowIndex flow;
};

/// A request packet whose place among its sender's requests is known.
struct RequestPacket {
    const PacketRecord& record;
    const wire::BthOpcode& opcode;
    FlowIndex flow;
    std::uint64_t position;
    std::uint32_t span;  ///< PSNs that it takes; 0 = a READ whose extent is not known

    bool is_read() const { return opcode.operation == wire::BthOperation::read_request; }
};

}  // namespace metrics::measure::roce
