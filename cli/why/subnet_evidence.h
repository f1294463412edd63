#pragma once
#include <vector>

#include "fabric/subnet.h"
#include "metrics/answers/answer.h"
#include "metrics/figures/snapshot.h"

namespace cli::why {

/// Adds to the answers what a reading of the InfiniBand subnet says: findings on the links of the hosts that the answer
/// is about, by their LIDs, with both ends named, and the number of other ports in the subnet that have such findings.
/// Only findings that can be the cause of the verdict are added. Returns the number of flows whose LIDs the subnet has.
std::size_t add_subnet_evidence(const ::fabric::Subnet& subnet, const metrics::Snapshot& snapshot,
                                std::vector<metrics::Answer>& answers);

}  // namespace cli::why
