#include "metrics/roce/roce_tracker.h"

#include <algorithm>

#include "metrics/flow/vantage.h"
#include "metrics/roce/credit.h"
#include "metrics/roce/identification.h"
#include "metrics/roce/message_pieces.h"
#include "metrics/roce/missing.h"
#include "metrics/roce/moved.h"
#include "metrics/roce/passing.h"
#include "metrics/roce/progress.h"
#include "metrics/roce/psn.h"
#include "metrics/roce/unfinished.h"
#include "wire/aeth.h"

namespace metrics {

namespace {

Passing passing_of(const PacketRecord& record) {
    const wire::BthOpcode& opcode = wire::bth_opcode(record.opcode);
    const bool takes_receive = (opcode.operation == wire::BthOperation::send || opcode.has_immediate()) &&
                               opcode.starts_message() && opcode.role == wire::BthRole::request;
    return {record.time_ns, record.wire_bytes(), record.frame, takes_receive, record.context};
}

/// A READ of unknown extent: it will show when the next request, or the last response, comes.
void note_extent(RequestState& request, const PacketRecord& record, const wire::BthOpcode& opcode, std::uint32_t span) {
    if (opcode.operation != wire::BthOperation::read_request || span != 0) return;
    request.read_untold = is_untold(record, opcode);
    request.read_slack = request.read_untold ? psn::most_slack : psn::slack_of(record.dma_length, request.mtu_exponent);
}

}  // namespace

void RoceTracker::on_packet(const PacketRecord& record) {
    const FlowIndex index = record.flow;
    Flow& flow = store_.table[index];
    const wire::BthOpcode& opcode = wire::bth_opcode(record.opcode);
    if (store_.watch != nullptr) [[unlikely]]
        watch_packet(index, record.frame);
    count(flow, record);
    if (record.crc_bad) [[unlikely]] {
        // Its receiver drops it, and nothing in it can be trusted.
        damaged(flow, record, opcode);
        return;
    }
    switch (opcode.role) {
        case wire::BthRole::request:
            if (flow.key.service == Service::rc || flow.key.service == Service::xrc)
                reliable_request(index, record, opcode);
            else
                unreliable_request(index, record, opcode);
            break;
        case wire::BthRole::response: response(index, record, opcode); break;
        case wire::BthRole::acknowledgement: acknowledgement(index, record); break;
        case wire::BthRole::notification: notification(flow, record); break;
    }
}

void RoceTracker::damaged(Flow& flow, const PacketRecord& record, const wire::BthOpcode& opcode) {
    ++flow.counts.crc_bad;
    store_.show(flow, EventKind::icrc_bad, record.frame);
    if (opcode.role != wire::BthRole::request || flow.request.next == 0) return;
    // The hole that it leaves is no loss before the tap.
    FlowTrouble& trouble = store_.trouble(flow);
    const std::uint64_t position = psn::position_of(record.psn, flow.request.next);
    if (position < flow.request.next) ++flow.request.repeated;
    trouble.damaged[trouble.damaged_next] = position;
    trouble.damaged_next = static_cast<std::uint8_t>((trouble.damaged_next + 1u) % trouble.damaged.size());
}

void RoceTracker::count(Flow& flow, const PacketRecord& record) {
    PacketCounts& counts = flow.counts;
    ++counts.packets;
    counts.wire_bytes += record.wire_length;
    counts.first_ns = std::min(counts.first_ns, record.time_ns);
    counts.last_ns = psn::later(counts.last_ns, record.time_ns);
    const unsigned ecn = record.traffic_class & 3u;
    if (ecn != 0) {
        flow.count_ecn_capable(true);
        if (ecn == 3) {
            flow.count_ce();
            store_.show(flow, EventKind::ce_mark, record.frame);
        }
    }
    if (record.direction != wire::Direction::unknown)
        (record.direction == wire::Direction::inbound ? flow.inbound : flow.outbound) = true;
    if (counts.packets == 1) {
        if (record.hop_limit != 0) flow.hops = hops_taken(record.hop_limit);
        flow.interface = static_cast<std::uint16_t>(std::min(record.interface, 0xffffu));
        flow.traffic_class = record.traffic_class;
    }
    if (record.source_qp != 0xffffffff) flow.source_qp = record.source_qp;
}

void RoceTracker::close_gap(Flow& flow, const Passing& packet, Situation& situation) {
    situation.now_ns = packet.now_ns;
    situation.wire_bytes = packet.wire_bytes;
    if (flow.reverse != no_flow) {
        const Flow& reverse = store_.table[flow.reverse];
        situation.inbound_ns = reverse.request.message_end_ns;
        if (packet.takes_receive) {
            situation.credit_exhausted = lacks_credit(reverse, flow);
            situation.credit_freed_ns = flow.request.credit_freed_ns;
        }
        if (reverse.trouble != Flow::no_block) situation.signal_ns = store_.troubles[reverse.trouble].last_cnp_ns;
    }
    situation.unobserved = flow.request.unobserved;
    flow.request.unobserved = false;
    store_.close_gap(flow, situation, packet.context, packet.frame);
    if (flow.trouble != Flow::no_block) store_.troubles[flow.trouble].rate.data(packet.now_ns, packet.wire_bytes);
}

void RoceTracker::close_gap(Flow& flow, const PacketRecord& record, Situation& situation) {
    close_gap(flow, passing_of(record), situation);
}

void RoceTracker::close_gap_in_sequence(Flow& flow, const Passing& packet, Situation& situation) {
    RequestState& request = flow.request;
    const bool held_back = request.freed_ns > request.last_data_ns && request.last_data_ns != Situation::never;
    close_gap(flow, packet, situation);
    // Which acknowledgement set the packet free is plain where nothing else was under way.
    if (held_back && packet.now_ns >= request.freed_ns && flow.ledger.messages_max() == 1 &&
        flow.attribution.last_state() == State::ack_window)
        psn::keep_least(request.reaction_min_ns, psn::elapsed(request.freed_ns, packet.now_ns));
}

/// The size and duration of a message of several packets, of which this is the next: known where all of it has passed.
[[gnu::always_inline]] inline void RoceTracker::measure_part(Flow& flow, const Progress& packet) {
    RequestState& request = flow.request;
    if (packet.starts) {
        request.message_first_ns = packet.now_ns;
        request.message_told = packet.dma_length;
        request.message_packets = 1;
        request.message_whole = true;
        if (!packet.ends) return;
    } else if (request.message_whole && request.in_message) [[likely]] {
        ++request.message_packets;
        if (!packet.ends) return;
    } else {
        if (!request.in_message) request.message_told = request.message_packets = 0;
        request.message_whole = false;
        ++request.message_packets;
        piece_of_message(flow, packet, 0);
        if (packet.ends) name_message(flow, packet);
        return;
    }
    store_.record_message(flow, request.message_counted);
    store_.record(flow, FlowHistogram::message_duration, psn::elapsed(request.message_first_ns, packet.now_ns));
    request.message_whole = false;
}

/// The part of new_request() that differs where a message takes several packets.
void RoceTracker::part_of_message(Flow& flow, const Progress& packet) {
    RequestState& request = flow.request;
    if (packet.starts || !request.in_message) {
        request.message_bytes = 0;
        request.message_counted = 0;
        request.operation = packet.operation;
        if (packet.starts && reuse_ != nullptr) notice_reuse(flow, packet);
    }
    request.message_bytes += packet.moved;
    request.message_counted += packet.moved;
    measure_part(flow, packet);
    if (packet.ends) {
        const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(request.message_bytes, 0xffffffff));
        // Immediate data and invalidation show at a message's end only: until then its octets are counted nowhere.
        OperationCounts::Count& counted = store_.count(flow, packet.operation);
        ++counted.messages;
        counted.bytes += request.message_counted;
        flow.ledger.add_bytes(packet.now_ns, packet.moved);
        flow.ledger.end(store_.rings, packet.now_ns, packet.operation, packet.last, bytes);
        request.in_message = false;
        request.message_bytes = 0;
        request.message_end_ns = packet.now_ns;
    } else {
        if (packet.starts) flow.ledger.begin(packet.now_ns, packet.operation);
        flow.ledger.add_bytes(packet.now_ns, packet.moved);
        request.in_message = true;
        request.mtu_payload = static_cast<std::uint16_t>(std::min<std::uint32_t>(packet.payload, 0xffff));
    }
}

/// A message that begins far from where the last one ended: another connection has been given the same QPN.
bool RoceTracker::is_another_life(const Flow& flow, const PacketRecord& record, const wire::BthOpcode& opcode) const {
    const RequestState& request = flow.request;
    if (request.next == 0 || !opcode.starts_message()) return false;
    const std::int32_t ahead = psn::difference(record.psn, request.next);
    if (ahead >= psn::idle_life_behind && ahead < psn::idle_life_ahead) [[likely]]
        return false;
    if (flow.ledger.messages() == 0 && !request.in_message && !request.recovering) return true;
    return ahead < psn::another_life_behind || ahead > psn::another_life_ahead;
}

FlowIndex RoceTracker::begin_another_life(FlowIndex index, const PacketRecord& record) {
    const FlowKey key = store_.table[index].key;
    const std::uint32_t connection = store_.table[index].connection;
    const std::uint64_t id = store_.table[index].id;
    store_.retire(index);
    const FlowIndex fresh = store_.obtain(key, record.hash, record.frame, record.time_ns);
    Flow& flow = store_.table[fresh];
    flow.drop_epoch = store_.drop_epoch;
    flow.connection = connection;
    if (flow.counts.packets == 0) {
        // The packet was counted as the old life's.
        Flow& old = store_.table[index];
        if (old.live && old.finished && old.key == key) {
            --old.counts.packets;
            old.counts.wire_bytes -= record.wire_length;
        }
        if (store_.watch != nullptr) {
            store_.watch->witness.taken_back(id, record.frame);
            watch_packet(fresh, record.frame);
        }
        count(flow, record);
    }
    return fresh;
}

/// The packets between the last one and this one have not passed.
void RoceTracker::note_hole(Flow& flow, const PacketRecord& record, std::uint64_t position) {
    RequestState& request = flow.request;
    FlowTrouble& trouble = store_.trouble(flow);
    auto lost = static_cast<std::uint32_t>(position - request.next);
    for (const std::uint64_t damaged : trouble.damaged)
        if (damaged >= request.next && damaged < position && lost > 0) --lost;
    request.missing += lost;
    note_missing(trouble.missing, {request.next, position, record.time_ns, record.identification});
    cut_message(flow);
    if (lost > 0) store_.show(flow, EventKind::gap, record.frame, lost);
}

void RoceTracker::reliable_request(FlowIndex index, const PacketRecord& record, const wire::BthOpcode& opcode) {
    if (is_another_life(store_.table[index], record, opcode)) index = begin_another_life(index, record);
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
    if (read) learn_mtu_before(flow, position);
    const std::uint32_t span = !read ? 1 : is_untold(record, opcode) ? 0 : read_span(flow, record.dma_length);
    if (flow.reverse == no_flow)
        store_.pairing.request(flow.key, index, record.psn, std::max(span, 1u), record.time_ns);
    // A READ before it was longer than one packet. What does not start its message follows what does.
    const std::int32_t skipped = ahead - (opcode.starts_message() ? 0 : 1);
    if (skipped > 0 && skipped <= request.read_slack) {
        extend_read(flow, request.next + static_cast<std::uint32_t>(skipped), true);
        ahead -= skipped;
    }
    Situation situation;
    situation.wants_response = wants_response(operation_of(opcode));
    if (request.lacks_responses && ahead >= 0) [[unlikely]]
        settle_responses(flow, record.time_ns, record.frame);
    if (ahead == 0 && gap_known(flow)) [[unlikely]]
        release_responses(flow, record, opcode);
    if (flow.trouble != Flow::no_block) decide_doubt(flow, position);
    if (ahead == 0) [[likely]] {
        situation.mid_message = request.in_message && !opcode.starts_message();
        note_identification(request, position, record.identification);
        close_gap_in_sequence(flow, passing_of(record), situation);
        if (request.recovering) tell_recovery(flow, record, position, span, read, false);
        const Progress progress = progress_of(record, opcode, position, span);
        if (store_.watch != nullptr) [[unlikely]]
            watch_request(index, progress, record.frame);
        new_request(flow, progress);
        note_extent(request, record, opcode, span);
    } else if (ahead > 0) {
        FlowTrouble& trouble = store_.trouble(flow);
        const auto hole = static_cast<std::uint32_t>(ahead);
        request.lacking = true;
        note_hole(flow, record, position);
        if (!request.recovering) trouble.recovery.resume(request.next, request.acknowledged, request.last_data_ns);
        note_identification(request, position, record.identification);
        tell_recovery(flow, record, position, span, read, false);
        close_gap(flow, record, situation);
        const Progress progress = progress_of(record, opcode, position, span);
        if (goes_on(request, progress, hole, true)) {
            // The packets of the hole are counted when they are seen; the message's size is known without them.
            request.message_bytes += std::uint64_t{hole} * request.mtu_payload;
            request.message_packets += hole;
        } else {
            if (request.in_message) {
                // The end of the message before lies in the hole.
                if (store_.watch != nullptr) watch_end_unseen(index, position - 1);
                flow.ledger.end(store_.rings, record.time_ns, request.operation, position - 1, 0);
                leave_message(flow);
            }
            if (!progress.starts) flow.ledger.begin(record.time_ns, progress.operation);
        }
        if (store_.watch != nullptr) watch_request(index, progress, record.frame);
        new_request(flow, progress);
        note_extent(request, record, opcode, span);
    } else {
        if (!past_request(index, record, opcode, position, span, situation)) return;
        request.identification = record.identification;
        request.recent[position % request.recent.size()] = print_of(position, record.identification);
        close_gap(flow, record, situation);
    }
    request.last_position = position;
    request.last_data_ns = psn::later(request.last_data_ns, record.time_ns);
}

/// UC and UD, and RD, whose end-to-end contexts are not followed: what was sent, and for UC what is missing.
void RoceTracker::unreliable_request(FlowIndex index, const PacketRecord& record, const wire::BthOpcode& opcode) {
    Flow& flow = store_.table[index];
    RequestState& request = flow.request;
    const bool ordered = flow.key.service == Service::uc;
    if (request.next == 0) {
        request.next = psn::first_position + record.psn;
        request.base = static_cast<std::int32_t>(record.psn);
    }
    const std::int32_t ahead = psn::difference(record.psn, request.next);
    const std::uint64_t position = psn::position_of(record.psn, request.next);
    if (ordered && ahead < 0 && ahead > psn::another_life_behind)
        return past_unreliable(index, record, opcode, position);
    const Progress packet = progress_of(record, opcode, position, 1);
    const std::uint32_t hole =
        ordered && ahead > 0 && ahead < psn::another_life_ahead ? static_cast<std::uint32_t>(ahead) : 0;
    const bool follows = !ordered || ahead == 0;
    Situation situation;
    situation.mid_message = ordered && (follows ? request.in_message && !packet.starts
                                                : hole != 0 && goes_on(request, packet, hole, false));
    const bool same_message =
        follows ? request.in_message && !packet.starts : hole != 0 && goes_on(request, packet, hole, true);
    if (hole != 0) {
        note_hole(flow, record, position);
    } else if (ahead != 0 && (ordered || request.in_message)) {
        store_.trouble(flow);  // for the pieces
        cut_message(flow);
    }
    if (same_message)
        request.message_packets += hole;
    else if (request.in_message)
        leave_message(flow);
    close_gap(flow, record, situation);
    if (store_.watch != nullptr) [[unlikely]]
        watch_request(index, packet, record.frame);
    unreliable_part(flow, packet);
    request.next = position + 1;
    request.last_position = position;
    request.last_data_ns = psn::later(request.last_data_ns, record.time_ns);
}

/// As new_request(), of what nobody acknowledges.
void RoceTracker::unreliable_part(Flow& flow, const Progress& packet) {
    RequestState& request = flow.request;
    flow.counts.payload_bytes += packet.payload;
    if (packet.starts || !request.in_message) {
        request.message_bytes = 0;
        request.message_counted = 0;
        request.operation = packet.operation;
    }
    request.message_bytes += packet.moved;
    request.message_counted += packet.moved;
    if (packet.starts && packet.ends)
        store_.record_message(flow, packet.moved);
    else
        measure_part(flow, packet);
    request.in_message = !packet.ends;
    if (packet.ends) {
        OperationCounts::Count& counted = store_.count(flow, packet.operation);
        ++counted.messages;
        counted.bytes += request.message_counted;
        request.message_end_ns = packet.now_ns;
        request.message_bytes = 0;
    } else {
        request.mtu_payload = static_cast<std::uint16_t>(std::min<std::uint32_t>(packet.payload, 0xffff));
    }
}

/// A position that a later packet has passed: late where it was missing, else the network has doubled it, since nobody
/// repeats anything.
void RoceTracker::past_unreliable(FlowIndex index, const PacketRecord& record, const wire::BthOpcode& opcode,
                                  std::uint64_t position) {
    Flow& flow = store_.table[index];
    RequestState& request = flow.request;
    const Progress packet = progress_of(record, opcode, position, 1);
    MissingRanges::Range hole;
    const bool fills = take_hole(flow, record, position, hole);
    if (fills) {
        ++request.reordered;
        if (hole.counted && request.missing > 0) --request.missing;
        store_.show(flow, EventKind::reordered, record.frame, request.next - position);
        fill_hole(flow, packet);
    } else {
        ++request.duplicates;
        store_.show(flow, EventKind::duplicate, record.frame);
    }
    if (store_.watch != nullptr) watch_past(index, record, packet, fills);
}

}  // namespace metrics
