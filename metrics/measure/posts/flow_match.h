#pragma once
#include "metrics/figures/snapshot.h"
#include "metrics/measure/posts/queue_pair_table.h"

namespace metrics::inline measure::posts {

/// The queue pair that sends a flow: found by its number and its peer's with the addresses of the packets (RoCE,
/// InfiniBand), or by the TCP ports (iWARP). `at_ns` is a time at which the flow lived, because numbers and ports are
/// used again. QueuePairTable::none if none fits, or if several do.
QueuePairTable::Handle find_owner(QueuePairTable& table, const FlowSnapshot& flow, std::int64_t at_ns);

}  // namespace metrics::measure::posts
