#pragma once
#include <cstdint>

#include "metrics/measure/account/frame_context.h"
#include "metrics/measure/packet/packet_record.h"
#include "wire/bth_opcode.h"

namespace metrics::inline measure::inline roce {

/// The data packet that ends the gap since its flow's last data packet.
struct GapEnd {
    std::int64_t now_ns = 0;
    std::uint32_t wire_bytes = 0;  ///< overhead included
    std::uint64_t frame = 0;
    bool takes_receive = false;  ///< it begins a message that takes a receive work request
    const FrameContext& context;
};

inline GapEnd gap_end_of(const PacketRecord& record) {
    const wire::BthOpcode& opcode = wire::bth_opcode(record.opcode);
    const bool takes_receive = (opcode.operation == wire::BthOperation::send || opcode.has_immediate()) &&
                               opcode.starts_message() && opcode.role == wire::BthRole::request;
    return {record.time_ns, record.wire_bytes(), record.frame, takes_receive, record.context};
}

}  // namespace metrics::measure::roce
