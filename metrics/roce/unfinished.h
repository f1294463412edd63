#pragma once
#include "metrics/roce/moved.h"
#include "metrics/roce/progress.h"
#include "metrics/roce/psn.h"

namespace metrics {

/// Whether a packet behind a hole is of the message under way; `otherwise` where nobody has told how long that is.
inline bool goes_on(const RequestState& request, const Progress& packet, std::uint32_t hole, bool otherwise) {
    if (!request.in_message || packet.starts || plain_of(packet.operation) != plain_of(request.operation)) return false;
    if (request.message_told == 0 || request.mtu_payload == 0) return otherwise;
    const std::uint64_t packets = psn::packets_of(request.message_told, request.mtu_payload);
    const std::uint64_t place = std::uint64_t{request.message_packets} + hole + 1;
    return packet.ends ? place == packets : place < packets;
}

}  // namespace metrics
