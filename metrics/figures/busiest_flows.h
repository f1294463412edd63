#pragma once
#include <cstddef>

#include "metrics/figures/snapshot.h"

namespace metrics::inline figures {

/// As difference(); of more than `most` flows that had traffic in between, those with the most bytes are kept.
Snapshot difference_of_busiest(const Snapshot& earlier, const Snapshot& later, std::size_t most);

}  // namespace metrics::figures
