#pragma once
#include <algorithm>
#include <cstdint>

#include "metrics/measure/packet/packet_operation.h"
#include "metrics/measure/roce/roce_packet.h"

namespace metrics::inline measure::inline roce {

/// What a request packet adds to its message.
struct Progress {
    std::int64_t now_ns = 0;
    std::uint64_t frame = 0;
    std::uint64_t first = 0;     ///< position of the packet
    std::uint64_t last = 0;      ///< position of the packet; of a READ request, of its last response
    std::uint32_t payload = 0;   ///< bytes
    std::uint32_t moved = 0;     ///< bytes of the upper layer
    std::uint64_t requests = 0;  ///< FrameContext::destination_requests
    std::uint64_t virtual_address = 0;
    std::uint32_t remote_key = 0;
    std::uint32_t dma_length = 0;
    Operation operation = Operation::send;  ///< of the packet alone
    bool starts = false;
    bool ends = false;
    bool cut_reth = false;  ///< a READ whose length was cut off with its RETH
};

inline Progress progress_of(const PacketRecord& record, const wire::BthOpcode& opcode, std::uint64_t position,
                            std::uint32_t span) {
    Progress out;
    out.now_ns = record.time_ns;
    out.frame = record.frame;
    out.first = position;
    out.last = position + std::max<std::uint32_t>(span, 1) - 1;
    out.payload = record.payload_length;
    out.moved = moved_by(record, opcode);
    out.operation = operation_of(opcode);
    out.starts = opcode.starts_message();
    out.ends = opcode.ends_message();
    out.requests = record.context.destination_requests;
    out.cut_reth = has_cut_reth(record, opcode);
    if (!record.has_remote_key) return out;
    out.remote_key = record.remote_key;
    out.virtual_address = record.virtual_address;
    out.dma_length = record.dma_length;
    return out;
}

inline Progress progress_of(const RequestPacket& packet) {
    return progress_of(packet.record, packet.opcode, packet.position, packet.span);
}

}  // namespace metrics::measure::roce
