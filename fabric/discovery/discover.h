#pragma once
#include <unordered_map>

#include "base/result.h"
#include "fabric/discovery/query_pool.h"
#include "fabric/subnet.h"

namespace fabric::discovery {

/// How each node is reached from the local port: the first route found to it.
using Routes = std::unordered_map<Guid, Route>;

struct Discovery {
    Subnet subnet = {};
    Routes routes = {};
};

/// Reads nodes, ports, links and subnet managers, beginning with the local port. A node that does not answer is in
/// Subnet::unanswered. Fails if the local adapter does not answer, or if there are more nodes than a subnet has.
base::Result<Discovery> discover(QueryPool& pool, const umad::LocalPort& local);

}  // namespace fabric::discovery
