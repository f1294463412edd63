#pragma once
#include <cstdint>

#include "metrics/frame_context.h"

namespace metrics {

/// The data packet that ends the gap since its flow's last data packet.
struct GapEnd {
    std::int64_t now_ns = 0;
    std::uint32_t wire_bytes = 0;  ///< overhead included
    std::uint64_t frame = 0;
    bool takes_receive = false;  ///< it begins a message that takes a receive work request
    const FrameContext& context;
};

}  // namespace metrics
