#pragma once
#include <span>
#include <vector>

#include "fleet/rows/row_table.h"
#include "metrics/answers/answer.h"
#include "metrics/figures/device_figures.h"
#include "metrics/figures/snapshot.h"

namespace fleet::rows {

/// What the daemon says of itself.
struct Health {
    std::string version;
    std::uint64_t interfaces_open = 0;
    std::uint64_t kernel_dropped = 0;
    std::uint64_t interface_dropped = 0;
    std::uint64_t flows_forgotten = 0;
    double busy_share = 0;
    std::uint64_t spool_octets = 0;
    std::uint64_t intervals_dropped = 0;
};

/// Every table: flows, commands, events, paths, answers, hosts, counters, health.
std::span<const Table* const> all_tables();

const Table& answers_table();
const Table& hosts_table();
const Table& counters_table();
const Table& health_table();

/// `rank` is the place of the answer among those of its interval.
Row answer_row(const Place& place, std::uint64_t rank, const metrics::Answer& answer);
Row host_row(const Place& place, const metrics::HostSnapshot& host);
Row counter_row(const Place& place, const metrics::DeviceCounter& counter);
Row health_row(const Place& place, const metrics::Snapshot& snapshot, const Health& health);

}  // namespace fleet::rows
