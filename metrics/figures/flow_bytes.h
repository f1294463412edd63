#pragma once
#include <cstdint>

namespace metrics::inline figures {

/// What a flow has carried so far.
struct FlowBytes {
    std::uint64_t id = 0;          ///< FlowSnapshot::id
    std::uint64_t wire_bytes = 0;  ///< FlowSnapshot::wire_bytes
};

}  // namespace metrics::figures
