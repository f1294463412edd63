#pragma once
#include "base/result.h"
#include "fabric/discovery/query_pool.h"
#include "fabric/subnet.h"

namespace fabric::discovery {

/// Which of a port's two readings is made.
enum class Pass : std::uint8_t { first, second };

/// Reads the counters of every port that has a link. Nodes without a LID have no performance agent that can be asked.
base::Result<void> read_counters(QueryPool& pool, Subnet& subnet, Pass pass);

}  // namespace fabric::discovery
