#include "metrics/measure/roce/request_holes.h"

#include <algorithm>

#include "metrics/measure/packet/psn.h"
#include "metrics/measure/roce/missing.h"

namespace metrics::inline measure::inline roce {

namespace {

/// How far before the first packet seen its neighbours may come after it.
constexpr std::uint64_t reach_before = 64;

}  // namespace

void RequestHoles::note(Flow& flow, const PacketRecord& record, std::uint64_t position) {
    RequestState& request = flow.request;
    FlowTrouble& trouble = store_.trouble(flow);
    auto lost = static_cast<std::uint32_t>(position - request.next);
    for (const std::uint64_t damaged : trouble.damaged)
        if (damaged >= request.next && damaged < position && lost > 0) --lost;
    request.missing += lost;
    note_missing(trouble.missing, {request.next, position, record.time_ns, record.identification});
    messages_.cut(flow);
    if (lost > 0) store_.show(flow, EventKind::gap, record.frame, lost);
}

bool RequestHoles::take(Flow& flow, const PacketRecord& record, std::uint64_t position, MissingRanges::Range& hole) {
    RequestState& request = flow.request;
    FlowTrouble& trouble = store_.trouble(flow);
    const std::uint64_t base = request.lowest_position();
    if (position < base && base - position <= reach_before) {
        // The first packet that the capture holds was not the first of its neighbours.
        note_missing(trouble.missing, {position, base, record.time_ns, request.identification, false});
        request.base -= static_cast<std::int32_t>(base - position);
        flow.begins_at_id = false;
    }
    return take_missing(trouble.missing, position, hole);
}

std::uint64_t RequestHoles::damaged(const Flow& flow, std::uint64_t begin, std::uint64_t end) const {
    if (flow.trouble == Flow::no_block) return 0;
    const auto& positions = store_.troubles[flow.trouble].damaged;
    return static_cast<std::uint64_t>(std::ranges::count_if(
        positions, [&](std::uint64_t position) { return position != 0 && position >= begin && position < end; }));
}

void RequestHoles::take_damaged(Flow& flow, std::uint64_t end) {
    FlowTrouble& trouble = store_.troubles[flow.trouble];
    for (std::uint64_t& position : trouble.damaged) {
        if (position == 0 || position >= end) continue;
        position = 0;
        ++trouble.crc_taken;
    }
}

void RequestHoles::repeat_damaged(Flow& flow, std::uint64_t position) {
    for (std::uint64_t& damaged : store_.troubles[flow.trouble].damaged)
        if (damaged == position) damaged = 0;
}

void RequestHoles::settle(Flow& requester, std::uint64_t end, std::uint64_t frame) {
    RequestState& request = requester.request;
    if (requester.trouble == Flow::no_block) return;
    FlowTrouble& trouble = store_.troubles[requester.trouble];
    const auto unseen = [&](std::uint64_t packets, bool refused) {
        if (packets == 0) return;
        const auto count = static_cast<std::uint32_t>(packets);
        trouble.unseen_acknowledged += count;
        if (!refused) request.missing -= std::min(request.missing, count);
        store_.show(requester, EventKind::ack_unseen, frame, count);
        request.unobserved = true;
    };
    const auto received = [&](std::uint64_t from, std::uint64_t to, bool refused) {
        std::uint64_t packets = to - from;
        for (const std::uint64_t damaged : trouble.damaged)
            if (damaged >= from && damaged < to && packets > 0) --packets;
        unseen(packets, refused);
    };
    request.lacking =
        acknowledge_missing(trouble.missing, end, received, [&](std::uint32_t packets) { unseen(packets, false); });
}

}  // namespace metrics::measure::roce
