#pragma once
#include <cstdint>

#include "metrics/measure/flow/flow_store.h"

/// Which responses to READs and atomics a requester has asked for again.
namespace metrics::inline measure::inline roce {

/// The responses in [begin, end) will come again. A sender that goes back repeats all READs that followed: `running`
/// says that it is going back already.
void ask_again(FlowTrouble& trouble, std::uint64_t begin, std::uint64_t end, bool running, std::int64_t now_ns);
/// Whether the requester has asked again for that response. It may have done so more than once.
bool is_asked_again(const FlowStore& store, const Flow& requester, std::uint64_t position);
/// The answer to what was last asked for again cannot be here yet.
bool is_answer_under_way(const FlowStore& store, const Flow& requester, std::int64_t now_ns);

}  // namespace metrics::measure::roce
