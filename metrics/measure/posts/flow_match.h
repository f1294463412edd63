#pragma once
#include "metrics/figures/snapshot.h"
#include "metrics/measure/posts/queue_pair_table.h"

namespace metrics::inline measure::posts {

/// Which queue pair's sending a flow is: its number and its peer's with the addresses of the packets (RoCE,
/// InfiniBand), the TCP ports (iWARP). `at_ns` is a time at which the flow lived: numbers and ports are used again.
/// QueuePairTable::none where none fits, or several do.
QueuePairTable::Handle find_owner(QueuePairTable& table, const FlowSnapshot& flow, std::int64_t at_ns);

}  // namespace metrics::measure::posts
