#pragma once
#include <cstdint>

#include "metrics/answers/answer.h"
#include "metrics/answers/repair_cause.h"
#include "metrics/figures/histogram.h"

namespace metrics::inline answers {

/// What flows with one cause have together. If the cause is elsewhere, only what the answers report of it.
struct RepairSums {
    std::uint64_t packets = 0, again = 0, missing = 0, late = 0, doubled = 0, icrc = 0, crc = 0, crc_checksum_right = 0,
                  rnr = 0, naks = 0, naks_of_another = 0, timeouts = 0, duplicate_acks = 0, repair_ns = 0, rnr_ns = 0,
                  nak_ns = 0, timeout_ns = 0, busy_ns = 0;
    Histogram repair, rnr_timer;
};

RepairSums sum_up(const Flows& flows, RepairCause cause);
/// The time that repairs took, if any was measured; else the share of the packets.
Cost cost_of(RepairCause cause, const RepairSums& sums);

}  // namespace metrics::answers
