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
    std::uint64_t missing_at_source = 0;       ///< lost within the source's machine, before its tap
    std::uint64_t missing_at_destination = 0;  ///< lost before the destination's tap
    std::uint64_t timeouts = 0;

    /// Of the source's packets, those that the destination's daemon did not count.
    std::uint64_t lost_between() const { return sent_packets > arrived_packets ? sent_packets - arrived_packets : 0; }
};

struct FlowPairs {
    std::vector<FlowPair> pairs = {};  ///< that with the greatest loss first
    std::uint64_t all = 0;             ///< flows that both ends saw
    std::uint64_t one_end = 0;         ///< flows that one end alone saw
};

base::Result<FlowPairs> ask_pairs(Engine& engine, const Scope& scope, std::uint64_t top);

}  // namespace fleet::questions
