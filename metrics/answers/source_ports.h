#pragma once
#include <string>

#include "metrics/figures/snapshot.h"

namespace metrics::inline answers {

/// The busiest flows between two hosts that share one UDP source port, in words: routers and bonds that hash by it
/// carry them over one link. Empty if none do.
std::string describe_shared_ports(const Snapshot& snapshot);

}  // namespace metrics::answers
