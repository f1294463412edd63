#include "metrics/measure/roce/roce_requests.h"

#include <algorithm>

#include "metrics/measure/packet/identification.h"
#include "metrics/measure/packet/psn.h"
#include "metrics/measure/roce/observed_requests.h"

namespace metrics::inline measure::inline roce {

namespace {

/// Whether a message begins far from where the last one ended: another connection has been given the same QPN.
bool is_of_successor(const Flow& flow, const RocePacket& packet) {
    const RequestState& request = flow.request;
    if (request.next == 0 || !packet.opcode.starts_message()) return false;
    const std::int32_t ahead = psn::difference(packet.record.psn, request.next);
    if (ahead >= psn::idle_successor_behind && ahead < psn::idle_successor_ahead) [[likely]]
        return false;
    if (flow.ledger.messages() == 0 && !request.in_message && !request.recovering) return true;
    return ahead < psn::successor_behind || ahead > psn::successor_ahead;
}

}  // namespace

/// Adds the packet to its message. The next position is the one after it.
[[gnu::always_inline]] inline void RoceRequests::add(Flow& flow, const RequestPacket& packet,
                                                     const Progress& progress) {
    store_.observe(
        [&](ObservedFlows& observed) { observe_request(observed, flow, packet.flow, progress, packet.record.frame); });
    messages_.add(flow, progress);
    if (packet.is_read() && packet.span == 0) ReadExtents::note_unknown(flow.request, packet.record, packet.opcode);
}

/// The way of most packets that do not take the common path.
[[gnu::always_inline]] inline void RoceRequests::on_next(Flow& flow, const RequestPacket& packet,
                                                         Situation& situation) {
    RequestState& request = flow.request;
    situation.mid_message = request.in_message && !packet.opcode.starts_message();
    note_identification(request, packet.position, packet.record.identification);
    store_.remember_entropy(flow, packet.position);
    tracking_.close_gap_in_sequence(flow, packet.record, situation);
    if (request.recovering) repairs_.report(packet, false);
    add(flow, packet, progress_of(packet));
}

/// The `hole` packets before this one have not passed.
void RoceRequests::on_ahead(Flow& flow, const RequestPacket& packet, std::uint32_t hole, Situation& situation) {
    const PacketRecord& record = packet.record;
    RequestState& request = flow.request;
    FlowTrouble& trouble = store_.trouble(flow);
    request.lacking = true;
    holes_.note(flow, record, packet.position);
    if (!request.recovering) trouble.recovery.resume(request.next, request.acknowledged, request.last_data_ns);
    note_identification(request, packet.position, record.identification);
    store_.remember_entropy(flow, packet.position);
    repairs_.report(packet, false);
    tracking_.close_gap(flow, record, situation);
    const Progress progress = progress_of(packet);
    if (continues_message(request, progress, hole, true)) {
        // The packets of the hole are counted when they are seen; the message's size is known without them.
        request.message_bytes += std::uint64_t{hole} * request.mtu_payload;
        request.message_packets += hole;
    } else {
        if (request.in_message) {
            // The end of the message before lies in the hole.
            const std::uint64_t end = packet.position - 1;
            store_.observe([&](ObservedFlows& observed) { observe_end_unseen(observed, flow, packet.flow, end); });
            flow.ledger.end(store_.rings, record.time_ns, request.operation, end, 0);
            messages_.leave(flow);
        }
        if (!progress.starts) flow.ledger.begin(record.time_ns, progress.operation);
    }
    add(flow, packet, progress);
}

void RoceRequests::on_request(const RocePacket& arrived) {
    const PacketRecord& record = arrived.record;
    const wire::BthOpcode& opcode = arrived.opcode;
    FlowIndex index = arrived.flow;
    if (is_of_successor(store_.table[index], arrived)) [[unlikely]] {
        if (Tracking::has_unsteady_psn(store_.table[index]))
            tracking_.go_on_at(store_.table[index], record);
        else
            index = tracking_.begin_successor(index, record);
    }
    Flow& flow = store_.table[index];
    RequestState& request = flow.request;
    const bool read = opcode.operation == wire::BthOperation::read_request;
    if (request.next == 0) {
        request.next = psn::first_position + record.psn;
        request.acknowledged = request.next;
        request.base = static_cast<std::int32_t>(record.psn);
    }
    std::int32_t ahead = psn::difference(record.psn, request.next);
    const std::uint64_t position = request.next + static_cast<std::uint64_t>(static_cast<std::int64_t>(ahead));
    if (read) ReadExtents::learn_mtu_before(flow, position);
    const std::uint32_t span = !read ? 1 : has_cut_reth(record, opcode) ? 0 : extents_.span_of(flow, record.dma_length);
    const RequestPacket packet{record, opcode, index, position, span};
    if (flow.reverse == no_flow)
        store_.pairing.request(flow.key, index, record.psn, std::max(span, 1u), record.time_ns);
    // A READ before it was longer than one packet. What does not start its message follows what does.
    const std::int32_t skipped = ahead - (opcode.starts_message() ? 0 : 1);
    if (skipped > 0 && skipped <= request.read_slack) {
        extents_.extend(flow, request.next + static_cast<std::uint32_t>(skipped), true);
        ahead -= skipped;
    }
    Situation situation;
    situation.wants_response = wants_response(operation_of(opcode));
    if (request.lacks_responses && ahead >= 0) [[unlikely]]
        lost_.settle(flow, record.time_ns, record.frame);
    if (ahead == 0 && lost_.has_gap(flow)) [[unlikely]]
        lost_.release(flow, record, opcode);
    if (flow.trouble != Flow::no_block) {
        repairs_.decide_doubt(flow, position);
        holes_.repeat_damaged(flow, position);
    }
    if (ahead == 0) [[likely]] {
        on_next(flow, packet, situation);
    } else if (ahead > 0) {
        on_ahead(flow, packet, static_cast<std::uint32_t>(ahead), situation);
    } else {
        if (!repairs_.on_past_request(packet, situation)) return;
        request.identification = record.identification;
        request.recent[position % request.recent.size()] = print_of(position, record.identification);
        tracking_.close_gap(flow, record, situation);
    }
    request.last_position = position;
    request.last_data_ns = psn::later(request.last_data_ns, record.time_ns);
}

}  // namespace metrics::measure::roce
