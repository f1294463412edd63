#pragma once
#include <cstdint>
#include <vector>

#include "fleet/questions/clickhouse_engine.h"
#include "fleet/questions/scope.h"
#include "metrics/answers/path_pairs.h"

namespace fleet::questions {

struct FleetPaths {
    std::vector<metrics::PathPair> pairs = {};  ///< that with the most bytes first
    std::uint64_t all = 0;
};

/// Entropies between hosts as the daemons of the senders saw them, or of the receivers where senders have none.
base::Result<FleetPaths> ask_paths(Engine& engine, const Scope& scope, std::uint64_t top);

}  // namespace fleet::questions
