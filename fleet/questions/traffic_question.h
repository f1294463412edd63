#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "exporters/traffic_groups.h"
#include "fleet/questions/clickhouse_engine.h"
#include "fleet/questions/scope.h"

namespace fleet::questions {

/// What `fleet top` shows: the traffic of hosts, or of pairs of hosts, each flow counted once, whichever of its ends
/// has a daemon.
struct Traffic {
    std::vector<exporters::TrafficGroup> groups = {};  ///< the first ones, that of the most bytes first
    std::uint64_t all_groups = 0;
};
base::Result<Traffic> ask_traffic(Engine& engine, const Scope& scope, exporters::GroupBy by, std::uint64_t top);

/// A host with a daemon: what its flows did, and how the daemon is.
struct HostState {
    std::string host;
    std::uint64_t flows = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t received_bytes = 0;
    std::uint64_t retransmitted_packets = 0;
    std::uint64_t timeouts = 0;
    std::uint64_t rnr_naks = 0;
    std::uint64_t ecn_ce_packets = 0;
    std::uint64_t cnp_packets = 0;
    std::int64_t last_ns = 0;  ///< the end of the last interval that the engine has; 0: none in the scope
    std::string version = {};
    std::uint64_t kernel_dropped = 0;
    std::uint64_t spool_bytes = 0;
    std::uint64_t intervals_dropped = 0;
};
base::Result<std::vector<HostState>> ask_hosts(Engine& engine, const Scope& scope, std::uint64_t top);

}  // namespace fleet::questions
