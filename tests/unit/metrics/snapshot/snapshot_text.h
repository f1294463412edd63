#pragma once
#include <string>

#include "metrics/snapshot.h"

namespace metrics::test {

/// Everything that a snapshot says, member by member and written out by hand, so that a member that merge() forgets
/// shows. Doubles with nine digits: their sums depend on the order in the last places.
std::string text_of(const Snapshot& snapshot);
std::string text_of(const FlowSnapshot& flow);

}  // namespace metrics::test
