#include "metrics/answers/repair_sums.h"

#include <algorithm>

#include "metrics/answers/flow_measures.h"

namespace metrics::inline answers {

RepairSums sum_up(const Flows& flows, RepairCause cause) {
    RepairSums sums;
    for (const FlowSnapshot* flow : flows) {
        sums.packets += flow->packets;
        if (is_elsewhere(cause) == shows_its_own(*flow)) {
            sums.rnr += flow->rnr_naks;
            sums.rnr_timer.merge(flow->rnr_timer_ns);
        }
        if (is_elsewhere(cause)) {
            sums.naks_of_another += naks_of_another(*flow);
            continue;
        }
        sums.again += repeated_packets(*flow);
        sums.missing += flow->missing_packets.value_or(0);
        sums.late += flow->reordered_packets.value_or(0);
        sums.doubled += flow->duplicate_packets.value_or(0);
        sums.icrc += flow->icrc_bad;
        sums.crc += flow->crc_bad;
        sums.crc_checksum_right += flow->crc_bad_checksum_right;
        sums.naks += sequence_naks(*flow);
        sums.timeouts += flow->timeouts;
        if (flow->tcp) sums.duplicate_acks += flow->tcp->duplicate_acks;
        sums.repair_ns += repair_ns(*flow);
        sums.rnr_ns += time_in(*flow, {State::rnr_wait});
        sums.nak_ns += time_in(*flow, {State::recover_nak});
        sums.timeout_ns += time_in(*flow, {State::recover_timeout});
        sums.busy_ns += active_ns(*flow);
        sums.repair.merge(flow->recovery.total_ns);
    }
    return sums;
}

Cost cost_of(RepairCause cause, const RepairSums& sums) {
    const auto packets = static_cast<double>(sums.packets);
    if (sums.repair_ns > 0 && cause != RepairCause::duplication && !is_elsewhere(cause))
        return {ratio(static_cast<double>(sums.repair_ns), static_cast<double>(sums.busy_ns)), CostBasis::busy_time};
    std::uint64_t events = std::max(sums.again, sums.missing);
    if (cause == RepairCause::duplication) events = sums.doubled;
    if (cause == RepairCause::corruption) events = std::max(events, sums.icrc + sums.crc);
    if (cause == RepairCause::rnr || cause == RepairCause::rnr_elsewhere) events = sums.rnr;
    if (cause == RepairCause::loss_elsewhere) events = sums.naks_of_another;
    return {ratio(static_cast<double>(events), packets + static_cast<double>(sums.missing)), CostBasis::packets};
}

}  // namespace metrics::answers
