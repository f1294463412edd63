#include "metrics/measure/roce/unreliable_requests.h"

#include <algorithm>

#include "metrics/measure/packet/psn.h"
#include "metrics/measure/roce/observed_requests.h"

namespace metrics::inline measure::inline roce {

void UnreliableRequests::on_request(const RocePacket& packet) {
    const PacketRecord& record = packet.record;
    Flow& flow = store_.table[packet.flow];
    RequestState& request = flow.request;
    const bool ordered = flow.key.service == Service::uc;
    if (request.next == 0) {
        request.next = psn::first_position + record.psn;
        request.base = static_cast<std::int32_t>(record.psn);
    }
    const std::int32_t ahead = psn::difference(record.psn, request.next);
    const std::uint64_t position = psn::position_of(record.psn, request.next);
    if (ordered && ahead < 0 && ahead > psn::successor_behind) return on_past_request(packet, position);
    const Progress progress = progress_of(record, packet.opcode, position, 1);
    const std::uint32_t hole =
        ordered && ahead > 0 && ahead < psn::successor_ahead ? static_cast<std::uint32_t>(ahead) : 0;
    const bool follows = !ordered || ahead == 0;
    Situation situation;
    situation.mid_message = ordered && (follows ? request.in_message && !progress.starts
                                                : hole != 0 && continues_message(request, progress, hole, false));
    const bool same_message = follows ? request.in_message && !progress.starts
                                      : hole != 0 && continues_message(request, progress, hole, true);
    if (hole != 0) {
        holes_.note(flow, record, position);
        if (store_.trouble(flow).losses.note_hole(position - hole, position))
            store_.path_windows.note_loss(flow, record.time_ns);
    } else if (ahead != 0 && (ordered || request.in_message)) {
        store_.trouble(flow);  // for the pieces
        messages_.cut(flow);
    }
    if (same_message)
        request.message_packets += hole;
    else if (request.in_message)
        messages_.leave(flow);
    tracking_.close_gap(flow, record, situation);
    store_.observe(
        [&](ObservedFlows& observed) { observe_request(observed, flow, packet.flow, progress, record.frame); });
    messages_.add_unacknowledged(flow, progress);
    request.next = position + 1;
    request.last_position = position;
    request.last_data_ns = psn::later(request.last_data_ns, record.time_ns);
}

/// A position that a later packet has passed: late if it was missing, else the network has doubled it, since senders of
/// these services repeat nothing.
void UnreliableRequests::on_past_request(const RocePacket& packet, std::uint64_t position) {
    const PacketRecord& record = packet.record;
    Flow& flow = store_.table[packet.flow];
    RequestState& request = flow.request;
    const Progress progress = progress_of(record, packet.opcode, position, 1);
    MissingRanges::Range hole;
    const bool fills = holes_.take(flow, record, position, hole);
    if (fills) {
        ++request.reordered;
        if (hole.counted && request.missing > 0) --request.missing;
        take_back_loss(flow, hole, position);
        store_.record(flow, RareHistogram::late_depth, request.next - position);
        store_.record(flow, RareHistogram::late_ns, psn::elapsed(hole.noticed_ns, record.time_ns));
        store_.show(flow, EventKind::reordered, record.frame, request.next - position);
        messages_.add_late(flow, progress);
    } else {
        ++request.duplicates;
        store_.show(flow, EventKind::duplicate, record.frame);
    }
    store_.observe(
        [&](ObservedFlows& observed) { observe_past(observed, flow, packet.flow, record, progress, fills); });
}

/// The last missing packet of an episode came late: nothing was lost. Holes before the first packet that was captured
/// were never counted.
void UnreliableRequests::take_back_loss(const Flow& flow, const MissingRanges::Range& hole, std::uint64_t position) {
    constexpr std::uint64_t reach = LossEpisodes::most_apart + 1;
    if (!hole.counted || flow.trouble == Flow::no_block) return;
    FlowTrouble& trouble = store_.troubles[flow.trouble];
    LossEpisodes& losses = trouble.losses;
    bool remains = false;
    losses.last_position = 0;
    for (const MissingRanges::Range& range : trouble.missing.ranges) {
        if (range.begin == range.end || !range.counted) continue;
        losses.last_position = std::max(losses.last_position, range.end - 1);
        remains = remains || (range.begin <= position + reach && position < range.end + reach);
    }
    if (remains || losses.count == 0) return;
    --losses.count;
    store_.path_windows.take_back_loss(flow);
}

}  // namespace metrics::measure::roce
