#pragma once
#include <cstdint>
#include <optional>

#include "dissect/dissection.h"
#include "dissect/tcp/sequence.h"
#include "dissect/tcp_flags.h"

namespace dissect::tcp {

/// What a capture shows of the numbers that the receiver of a RST looks at.
struct ResetBounds {
    std::optional<std::uint32_t> sent;          ///< one past the highest byte seen of the RST's sender
    std::optional<std::uint32_t> acknowledged;  ///< up to where the receiver has acknowledged these
    std::optional<std::uint32_t> received;      ///< one past the highest byte seen of the receiver itself
};

/// Whether the receiver drops a RST, for it lies outside its window: one of an earlier connection, or a forged one. RFC
/// 9293, 3.10.7.4; RFC 5961, 3.2. What nothing is known of is believed.
inline bool is_stray_reset(const TcpSummary& tcp, const ResetBounds& known) {
    constexpr std::uint32_t window = 65536;  // scaled or not, the next byte lies in it
    if (!known.sent && !known.acknowledged) {
        // A refused SYN's RST has no number of its own, but acknowledges that SYN. RFC 9293, 3.10.7.3.
        if ((tcp.flags & tcp_ack) == 0 || !known.received) return false;
        const std::int32_t off = distance(tcp.acknowledgment, *known.received);
        return off > static_cast<std::int32_t>(window) || off < -static_cast<std::int32_t>(window);
    }
    // Its receiver goes on to acknowledge nothing: what it has acknowledged, it had. By one less answers a host that
    // has closed, of whose FIN the segment that it answers did not know yet: that is taken for good as well.
    const std::uint32_t least = known.acknowledged ? *known.acknowledged - 1 : *known.sent - window;
    if (distance(tcp.sequence, least) < 0) return true;
    if (!known.sent) return distance(tcp.sequence, *known.acknowledged) > most_in_flight;
    const bool beyond = known.acknowledged && distance(*known.acknowledged, *known.sent) > 0;
    return distance(tcp.sequence, beyond ? *known.acknowledged : *known.sent) > static_cast<std::int32_t>(window);
}

}  // namespace dissect::tcp
