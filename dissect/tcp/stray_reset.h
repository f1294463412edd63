#pragma once
#include <cstdint>
#include <optional>

#include "dissect/dissection.h"
#include "dissect/tcp/sequence.h"
#include "dissect/tcp_flags.h"

namespace dissect::tcp {

/// The numbers that the receiver of a RST checks, as far as the capture shows them.
struct ResetBounds {
    std::optional<std::uint32_t> sent;          ///< one past the highest byte seen of the RST's sender
    std::optional<std::uint32_t> acknowledged;  ///< the receiver's acknowledgement of these
    std::optional<std::uint32_t> received;      ///< one past the highest byte seen of the receiver itself
};

/// Whether the receiver drops a RST because it lies outside its window: a RST of an earlier connection, or a forged
/// one. RFC 9293, 3.10.7.4; RFC 5961, 3.2. If nothing is known, the RST is accepted.
inline bool is_stray_reset(const TcpSummary& tcp, const ResetBounds& known) {
    constexpr std::uint32_t window = 65536;  // scaled or not, the next byte lies in it
    if (!known.sent && !known.acknowledged) {
        // A refused SYN's RST has no number of its own, but acknowledges that SYN. RFC 9293, 3.10.7.3.
        if ((tcp.flags & tcp_ack) == 0 || !known.received) return false;
        const std::int32_t off = distance(tcp.acknowledgment, *known.received);
        return off > static_cast<std::int32_t>(window) || off < -static_cast<std::int32_t>(window);
    }
    // The receiver has everything that it has acknowledged, and acknowledges no more. A host that has closed may answer
    // with one less, if the segment that it answers was sent before its FIN was known: that RST is accepted as well.
    const std::uint32_t least = known.acknowledged ? *known.acknowledged - 1 : *known.sent - window;
    if (distance(tcp.sequence, least) < 0) return true;
    if (!known.sent) return distance(tcp.sequence, *known.acknowledged) > most_in_flight;
    const bool beyond = known.acknowledged && distance(*known.acknowledged, *known.sent) > 0;
    return distance(tcp.sequence, beyond ? *known.acknowledged : *known.sent) > static_cast<std::int32_t>(window);
}

}  // namespace dissect::tcp
