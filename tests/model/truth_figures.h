#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "metrics/figures/operation.h"
#include "tests/model/model_run.h"

namespace model {

/// Values of a distribution, all of them.
using Samples = std::vector<std::uint64_t>;

struct OperationTruth {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    Samples latency_ns;
    Samples first_response_ns;
};

/// What passes a tap in the direction in which one end sends, counted with the model's knowledge of every packet.
struct Figures {
    std::int64_t first_ns = 0;  ///< of the direction's first packet, since the start
    std::int64_t last_ns = 0;
    std::uint64_t packets = 0;
    std::uint64_t wire_bytes = 0;
    std::uint64_t payload_bytes = 0;  ///< repeats not counted
    std::uint64_t acknowledgement_packets = 0;
    std::uint64_t retransmitted_packets = 0;  ///< of positions that had passed, or been missed, before
    std::uint64_t duplicate_packets = 0;
    std::uint64_t late_packets = 0;     ///< after a later one, though sent once
    std::uint64_t missing_packets = 0;  ///< had not passed when a later one did, those that were merely late aside
    std::uint64_t ecn_ce_packets = 0;
    std::uint64_t ecn_capable_packets = 0;
    std::array<OperationTruth, metrics::operation_count> operations;

    // what the peer says about this direction, at the same tap
    std::uint64_t sequence_naks = 0;
    std::uint64_t rnr_naks = 0;
    std::uint64_t cnp_packets = 0;

    struct Change {
        std::int64_t time_ns = 0;
        int by = 0;
    };
    std::vector<Change> outstanding;  ///< messages, from their first packet to what acknowledges them

    std::uint64_t messages_max() const;
    /// Integral of the outstanding messages over time, in message-nanoseconds.
    std::uint64_t message_ns(std::int64_t from_ns, std::int64_t to_ns) const;
};

/// Of every side.
std::vector<Figures> figures(const History& history, Tap tap);

}  // namespace model
