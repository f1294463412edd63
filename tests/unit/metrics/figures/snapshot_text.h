#pragma once
#include <string>
#include <vector>

#include "metrics/figures/snapshot.h"

namespace metrics::test {

/// Everything that a snapshot says, member by member and written out by hand, so that a member that merge() forgets
/// shows. Doubles with nine digits: their sums depend on the order in the last places.
std::string text_of(const Snapshot& snapshot);
std::string text_of(const FlowSnapshot& flow);

/// All figures of which the whole is the sum of its parts, over all flows, hosts and interfaces of a snapshot; an
/// absent one is nothing.
std::vector<std::uint64_t> additive_figures(const Snapshot& snapshot);

}  // namespace metrics::test
