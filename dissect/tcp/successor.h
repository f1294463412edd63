#pragma once
#include <cstdint>
#include <optional>

#include "dissect/dissection.h"
#include "dissect/tcp/sequence.h"
#include "dissect/tcp_flags.h"

namespace dissect::tcp {

/// The sequence numbers of one direction of a connection that is over, as far as the capture shows them.
struct SequenceExtent {
    std::optional<std::uint32_t> begin;  ///< its SYN's
    std::optional<std::uint32_t> end;    ///< one more than the highest seen, a FIN's included
    bool finished = false;               ///< the FIN was seen: there is nothing beyond

    /// `unseen`: the number of bytes that may lie beyond its end.
    bool lacks(std::uint32_t sequence, std::int32_t unseen) const {
        return (end && distance(sequence, *end) > unseen) || (begin && distance(sequence, *begin) < 0);
    }
};

/// Whether a segment that comes after a connection is over belongs to another connection on the same ports, whose SYN
/// was not captured. If both sides have closed, none of their numbers can lie outside what was seen of them. After a
/// RST one may, because the capture may lack segments under way: but not by far, and hardly both numbers of one
/// segment.
inline bool is_of_successor(const TcpSummary& tcp, const SequenceExtent& sender, const SequenceExtent& receiver) {
    if ((tcp.flags & (tcp_syn | tcp_rst)) != 0) return false;
    const bool has_ack = (tcp.flags & tcp_ack) != 0;
    const auto lack = [&](std::int32_t unseen) {
        return unsigned{sender.lacks(tcp.sequence, unseen)} +
               unsigned{has_ack && receiver.lacks(tcp.acknowledgment, unseen)};
    };
    if (sender.finished && receiver.finished) return lack(0) != 0;
    return lack(0) == 2 || lack(most_in_flight) != 0;
}

}  // namespace dissect::tcp
