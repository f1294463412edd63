#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "fleet/questions/clickhouse_engine.h"
#include "fleet/questions/scope.h"

namespace fleet::questions {

/// One direction of a queue pair, as the daemons at both of its ends counted it.
struct FlowPair {
    std::string transport = {};
    std::string service = {};
    std::string source = {};  ///< addresses
    std::string destination = {};
    std::uint64_t destination_qpn = 0;  ///< 0: iWARP
    std::uint64_t source_port = 0;      ///< iWARP
    std::uint64_t destination_port = 0;
    std::string source_host = {};  ///< daemons
    std::string destination_host = {};
    std::uint64_t sent_packets = 0;     ///< counted by the source's daemon
    std::uint64_t arrived_packets = 0;  ///< counted by the destination's daemon
    std::uint64_t sent_bytes = 0;
    std::uint64_t arrived_bytes = 0;
    std::uint64_t sent_retransmitted = 0;
    std::uint64_t arrived_retransmitted = 0;
    std::uint64_t missing_at_source = 0;       ///< PSNs (bytes of TCP) that the source's tap lacks: lost before it
    std::uint64_t missing_at_destination = 0;  ///< those that the destination's tap lacks: lost before it
    std::uint64_t timeouts = 0;
    bool complete = false;  ///< both daemons counted the flow over the same time, without a restart

    /// Lost from one tap to the other, by PSNs: each tap compares the PSNs that pass it with their predecessors, so
    /// that neither the time at which an interval ends, nor a queue pair number that is used again, looks like a loss.
    std::uint64_t lost_between() const {
        return missing_at_destination > missing_at_source ? missing_at_destination - missing_at_source : 0;
    }
    /// Sent again although the destination's tap lacked nothing: lost or refused after it, or their answers were lost.
    std::uint64_t repeated_after_arrival() const {
        return missing_at_source == 0 && missing_at_destination == 0 ? arrived_retransmitted : 0;
    }
    /// What the source counted and the destination did not. If the flow goes on, also what passed between the ends of
    /// their intervals.
    std::int64_t fewer_counted() const {
        return static_cast<std::int64_t>(sent_packets) - static_cast<std::int64_t>(arrived_packets);
    }
    double share(std::uint64_t packets) const {
        return sent_packets == 0 ? 0 : static_cast<double>(packets) / static_cast<double>(sent_packets);
    }
};

struct FlowPairs {
    std::vector<FlowPair> pairs = {};  ///< that with the greatest loss between the taps first
    std::uint64_t all = 0;             ///< flows that both ends saw
    std::uint64_t one_end = 0;         ///< flows that one end alone saw
};

base::Result<FlowPairs> ask_pairs(Engine& engine, const Scope& scope, std::uint64_t top);

}  // namespace fleet::questions
