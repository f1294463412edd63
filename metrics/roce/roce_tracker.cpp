#include "metrics/roce/roce_tracker.h"

#include <algorithm>

#include "metrics/flow/vantage.h"
#include "wire/aeth.h"

namespace metrics {

namespace {

constexpr std::uint32_t psn_mask = 0xffffff;
/// Positions begin here, so that those before the first packet seen have one too.
constexpr std::uint64_t first_position = std::uint64_t{1} << 32;
/// No window is that wide: a message that begins farther back or ahead belongs to another use of the same QPN.
constexpr std::int32_t another_life_behind = -(1 << 17);
constexpr std::int32_t another_life_ahead = 1 << 20;
/// A network that doubles or overtakes packets does so within this; retransmission timers are longer.
constexpr std::int64_t network_disorder_ns = 1'000'000;

/// A second answer within the window of the flow that the first one named: chance would have to strike twice.
constexpr std::uint8_t confirmed_percent = 99;

std::int32_t psn_difference(std::uint32_t psn, std::uint64_t reference) {
    const std::uint32_t difference = (psn - static_cast<std::uint32_t>(reference)) & psn_mask;
    return static_cast<std::int32_t>(difference ^ 0x800000u) - 0x800000;
}

std::uint64_t position_of(std::uint32_t psn, std::uint64_t reference) {
    return reference + static_cast<std::uint64_t>(static_cast<std::int64_t>(psn_difference(psn, reference)));
}

std::int64_t later(std::int64_t one, std::int64_t other) { return std::max(one, other); }

std::uint64_t elapsed(std::int64_t from, std::int64_t to) {
    return to > from ? static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from) : 0;
}

void keep_least(std::uint32_t& least, std::uint64_t value) {
    if (value < least) least = static_cast<std::uint32_t>(std::max<std::uint64_t>(value, 1));
}

/// Of the packet alone: a SEND MIDDLE does not know yet that its message has immediate data.
Operation operation_of(const wire::BthOpcode& opcode) {
    switch (opcode.operation) {
        case wire::BthOperation::write:
        case wire::BthOperation::atomic_write:
            return opcode.has_immediate() ? Operation::write_immediate : Operation::write;
        case wire::BthOperation::read_request:
        case wire::BthOperation::flush: return Operation::read;
        case wire::BthOperation::compare_swap: return Operation::compare_swap;
        case wire::BthOperation::fetch_add: return Operation::fetch_add;
        default:
            return opcode.has_immediate()    ? Operation::send_immediate
                   : opcode.has_invalidate() ? Operation::send_invalidate
                                             : Operation::send;
    }
}

/// Octets of the upper layer that the message moves by this packet. An atomic moves 8. IBTA vol. 1, 9.4.5.
std::uint32_t moved_by(const PacketRecord& record, const wire::BthOpcode& opcode) {
    switch (opcode.operation) {
        case wire::BthOperation::read_request: return record.dma_length;
        case wire::BthOperation::compare_swap:
        case wire::BthOperation::fetch_add: return 8;
        default: return record.payload_length;
    }
}

/// Immediate data and invalidation show at a message's end only: what came before was counted as the plain operation's.
/// Packets of a hole may be counted after this, so the plain operation's figure may pass below zero for a while.
void reassign_bytes(Flow& flow, Operation operation, std::uint64_t bytes) {
    const Operation plain = operation == Operation::write_immediate ? Operation::write
                            : operation == Operation::send_immediate || operation == Operation::send_invalidate
                                ? Operation::send
                                : operation;
    flow.message_bytes[index_of(plain)] -= bytes;
    flow.message_bytes[index_of(operation)] += bytes;
}

void note_missing(MissingRanges& missing, std::uint64_t begin, std::uint64_t end, std::int64_t now_ns) {
    MissingRanges::Range* place = &missing.ranges[0];
    for (MissingRanges::Range& range : missing.ranges) {
        if (range.begin == range.end) {
            place = &range;
            break;
        }
        if (range.noticed_ns < place->noticed_ns) place = &range;  // the oldest is given up
    }
    *place = {begin, end, now_ns};
}

/// Whether the position was missing; it no longer is. `noticed_ns`: since when.
bool take_missing(MissingRanges& missing, std::uint64_t position, std::int64_t& noticed_ns) {
    for (MissingRanges::Range& range : missing.ranges) {
        if (position < range.begin || position >= range.end) continue;
        noticed_ns = range.noticed_ns;
        const MissingRanges::Range after{position + 1, range.end, range.noticed_ns};
        range.end = position;
        if (after.begin < after.end) {
            if (range.begin == range.end)
                range = after;
            else
                note_missing(missing, after.begin, after.end, after.noticed_ns);
        }
        return true;
    }
    return false;
}

}  // namespace

void RoceTracker::on_packet(const PacketRecord& record) {
    const FlowIndex index = record.flow;
    Flow& flow = store_.table[index];
    const wire::BthOpcode& opcode = wire::bth_opcode(record.opcode);
    count(flow, record);
    if (record.crc_bad) [[unlikely]] {
        // Its receiver drops it, and nothing in it can be trusted.
        ++flow.counts.crc_bad;
        store_.show(flow, EventKind::icrc_bad, record.frame);
        return;
    }
    switch (opcode.role) {
        case wire::BthRole::request:
            if (flow.key.service == Service::rc || flow.key.service == Service::xrc)
                reliable_request(index, record, opcode);
            else
                unreliable_request(flow, record, opcode);
            break;
        case wire::BthRole::response: response(index, record, opcode); break;
        case wire::BthRole::acknowledgement: acknowledgement(index, record, opcode); break;
        case wire::BthRole::notification: notification(flow, record); break;
    }
}

void RoceTracker::count(Flow& flow, const PacketRecord& record) {
    PacketCounts& counts = flow.counts;
    ++counts.packets;
    counts.wire_bytes += record.wire_length;
    counts.last_ns = later(counts.last_ns, record.time_ns);
    const unsigned ecn = record.traffic_class & 3u;
    if (ecn != 0) {
        ++counts.ecn_capable;
        if (ecn == 3) {
            ++counts.ce;
            store_.show(flow, EventKind::ce_mark, record.frame);
        }
    }
    if (record.direction != wire::Direction::unknown)
        ++(record.direction == wire::Direction::inbound ? flow.inbound : flow.outbound);
    if (counts.packets == 1) {
        if (record.hop_limit != 0) flow.hops = hops_taken(record.hop_limit);
        flow.interface = record.interface;
        flow.traffic_class = record.traffic_class;
    }
    if (record.source_qp != 0xffffffff) flow.source_qp = record.source_qp;
}

std::uint32_t RoceTracker::read_span(const Flow& flow, std::uint32_t length) const {
    if (length == 0) return 1;
    std::uint32_t mtu = flow.request.mtu_payload;
    if (mtu == 0 && flow.reverse != no_flow) {
        const Flow& reverse = store_.table[flow.reverse];
        mtu = std::max(reverse.response.mtu_payload, reverse.request.mtu_payload);
    }
    return mtu == 0 ? 0 : (length + mtu - 1) / mtu;
}

void RoceTracker::close_gap(Flow& flow, const PacketRecord& record, Situation& situation) {
    situation.now_ns = record.time_ns;
    situation.wire_bytes = record.wire_bytes();
    if (flow.reverse != no_flow) {
        const Flow& reverse = store_.table[flow.reverse];
        situation.inbound_ns = reverse.request.message_end_ns;
        situation.credit_exhausted = reverse.credits == 0;
        if (reverse.trouble != Flow::no_block) situation.signal_ns = store_.troubles[reverse.trouble].last_cnp_ns;
    }
    situation.unobserved = flow.request.unobserved;
    flow.request.unobserved = false;
    store_.close_gap(flow, situation, record.context, record.frame);
}

/// Bytes and messages, each counted when it is seen for the first time.
void RoceTracker::first_sight(Flow& flow, const PacketRecord& record, const wire::BthOpcode& opcode) {
    const auto operation = index_of(operation_of(opcode));
    flow.counts.payload_bytes += record.payload_length;
    flow.message_bytes[operation] += moved_by(record, opcode);
    if (opcode.ends_message()) ++flow.messages[operation];
}

void RoceTracker::notice_reuse(Flow& flow, const PacketRecord& record, std::uint64_t position) {
    const ReuseTracker::Access access{record.time_ns,         record.context.destination_requests,
                                      flow.reuse_clock,       record.remote_key,
                                      record.virtual_address, record.has_remote_key ? record.dma_length : 0};
    flow.reuse_clock = record.context.destination_requests;
    const std::uint32_t handle = reuse_->access(record.key.source, record.key.destination, access);
    if (flow.request.reuse_position == 0 && wire::bth_opcode(record.opcode).ends_message()) {
        flow.request.reuse_position = position;
        flow.request.reuse_handle = handle;
    }
}

void RoceTracker::new_request(Flow& flow, const PacketRecord& record, const wire::BthOpcode& opcode,
                              std::uint64_t position, std::uint32_t span) {
    RequestState& request = flow.request;
    const Operation operation = operation_of(opcode);
    const std::uint32_t moved = moved_by(record, opcode);
    const std::uint64_t last = position + std::max<std::uint32_t>(span, 1) - 1;
    flow.counts.payload_bytes += record.payload_length;
    flow.message_bytes[index_of(operation)] += moved;
    if (opcode.starts_message()) {
        request.message_bytes = 0;
        request.message_first_ns = record.time_ns;
        request.message_again = false;
        request.operation = operation;
        if (reuse_ != nullptr) notice_reuse(flow, record, last);
    }
    request.message_bytes += moved;
    if (opcode.ends_message()) {
        const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(request.message_bytes, 0xffffffff));
        ++flow.messages[index_of(operation)];
        if (!opcode.starts_message()) reassign_bytes(flow, operation, request.message_bytes - moved);
        store_.record(flow, FlowHistogram::message_bytes, request.message_bytes);
        if (opcode.starts_message()) {
            flow.ledger.post(store_.rings, record.time_ns, operation, last, bytes);
        } else {
            store_.record(flow, FlowHistogram::message_duration, elapsed(request.message_first_ns, record.time_ns));
            flow.ledger.add_bytes(record.time_ns, moved);
            flow.ledger.end(store_.rings, record.time_ns, operation, last, bytes);
        }
        request.in_message = false;
        request.message_bytes = 0;
        request.message_end_ns = record.time_ns;
    } else {
        if (opcode.starts_message()) flow.ledger.begin(record.time_ns, operation);
        flow.ledger.add_bytes(record.time_ns, moved);
        request.in_message = true;
        request.mtu_payload = static_cast<std::uint16_t>(std::min<std::uint32_t>(record.payload_length, 0xffff));
    }
    request.next = last + 1;
    request.read_slack = 0;
    if (opcode.operation == wire::BthOperation::read_request && span == 0) {
        // Its extent will show when the next request, or the last response, comes.
        request.read_slack =
            static_cast<std::uint16_t>(std::min<std::uint32_t>((record.dma_length + 255) / 256, 0xffff));
        if (request.read_slack > 0) --request.read_slack;
    }
}

RepeatCause RoceTracker::tell_recovery(Flow& flow, const PacketRecord& record, std::uint64_t position,
                                       std::uint32_t span, bool read, bool late) {
    FlowTrouble& trouble = store_.trouble(flow);
    const Vantage vantage = vantage_of(flow, flow.reverse == no_flow ? nullptr : &store_.table[flow.reverse]);
    const RecoveryPacket packet{record.time_ns, position, std::max<std::uint32_t>(span, 1), read, late};
    const auto report = [&](auto what, std::uint64_t value) {
        if constexpr (std::is_same_v<decltype(what), EventKind>) {
            store_.show(flow, what, record.frame, value);
        } else {
            switch (what) {
                case RecoveryStep::begun: break;
                case RecoveryStep::nak_generation: store_.record(flow, FlowHistogram::nak_generation, value); break;
                case RecoveryStep::nak_reaction: store_.record(flow, FlowHistogram::nak_reaction, value); break;
                case RecoveryStep::total: store_.record(flow, FlowHistogram::recovery_total, value); break;
            }
        }
    };
    const RepeatCause cause = trouble.recovery.data(
        packet, {vantage == Vantage::sender, vantage == Vantage::receiver, flow.request.ack_timeout_ns}, report);
    flow.request.recovering = trouble.recovery.busy();
    return cause;
}

/// A position that a new packet has had already. Returns false where nothing is to be attributed: the network's doing.
bool RoceTracker::past_request(Flow& flow, const PacketRecord& record, const wire::BthOpcode& opcode,
                               std::uint64_t position, std::uint32_t span, Situation& situation) {
    RequestState& request = flow.request;
    FlowTrouble& trouble = store_.trouble(flow);
    std::int64_t noticed_ns = 0;
    const bool fills = take_missing(trouble.missing, position, noticed_ns);
    const std::uint64_t silence = elapsed(request.last_data_ns, record.time_ns);
    bool late = false;
    if (trouble.recovery.pending() == RepeatCause::none) {
        if (fills)
            late = silence < network_disorder_ns && elapsed(noticed_ns, record.time_ns) < 100 * network_disorder_ns;
        else
            late = position == request.last_position && silence < network_disorder_ns;
    } else if (fills && trouble.last_nak_ns != Situation::never) {
        // The NAK is not at the sender yet: this one was under way before.
        const std::uint64_t since = elapsed(trouble.last_nak_ns, record.time_ns);
        late = request.reaction_min_ns != 0xffffffff && since < request.reaction_min_ns / 2;
    }
    const bool busy = request.recovering;
    if (!busy) trouble.recovery.resume(request.next, request.acknowledged);
    const RepeatCause cause =
        tell_recovery(flow, record, position, span, opcode.operation == wire::BthOperation::read_request, late);
    if (fills) {
        first_sight(flow, record, opcode);
        if (late) {
            ++request.reordered;
            if (request.missing > 0) --request.missing;
            store_.show(flow, EventKind::reordered, record.frame, request.next - position);
        }
    } else if (late) {
        ++request.duplicates;
        store_.show(flow, EventKind::duplicate, record.frame);
    }
    if (late) return false;
    ++request.repeated;
    if (request.in_message) request.message_again = true;
    flow.ledger.mark_again(store_.rings, position);
    if (cause != RepeatCause::none) {
        store_.show(flow, EventKind::retransmission, record.frame, 1);
        if (cause == RepeatCause::timeout) {
            ++trouble.timeouts;
            store_.show(flow, EventKind::timeout, record.frame, silence);
        }
    }
    situation.again = true;
    situation.cause = cause;
    return true;
}

void RoceTracker::reliable_request(FlowIndex index, const PacketRecord& record, const wire::BthOpcode& opcode) {
    Flow& flow = store_.table[index];
    RequestState& request = flow.request;
    const bool read = opcode.operation == wire::BthOperation::read_request;
    const std::uint32_t span = read ? read_span(flow, record.dma_length) : 1;
    if (flow.reverse == no_flow)
        store_.pairing.request(flow.key, index, record.psn, std::max(span, 1u), record.time_ns);
    if (request.next == 0) {
        request.next = first_position + record.psn;
        request.acknowledged = request.next;
        flow.seen_before_capture = !opcode.starts_message();
    }
    std::int32_t ahead = psn_difference(record.psn, request.next);
    const std::uint64_t position = request.next + static_cast<std::uint64_t>(static_cast<std::int64_t>(ahead));
    if (ahead > 0 && ahead <= request.read_slack) {
        // The READ before it was longer than one packet; its extent tells the path's MTU.
        request.next = position;
        ahead = 0;
    }
    Situation situation;
    situation.wants_response = wants_response(operation_of(opcode));
    if (ahead == 0) [[likely]] {
        situation.mid_message = request.in_message && !opcode.starts_message();
        // Only where nothing else was under way did the acknowledgement set this packet free.
        if (flow.ledger.messages_max() == 1 && request.freed_ns > request.last_data_ns &&
            request.last_data_ns != Situation::never && !situation.mid_message)
            keep_least(request.reaction_min_ns, elapsed(request.freed_ns, record.time_ns));
        close_gap(flow, record, situation);
        if (request.recovering) tell_recovery(flow, record, position, span, read, false);
        new_request(flow, record, opcode, position, span);
    } else if (ahead > 0) {
        FlowTrouble& trouble = store_.trouble(flow);
        const auto hole = static_cast<std::uint32_t>(ahead);
        request.missing += hole;
        note_missing(trouble.missing, request.next, position, record.time_ns);
        store_.show(flow, EventKind::gap, record.frame, hole);
        if (!request.recovering) trouble.recovery.resume(request.next, request.acknowledged);
        tell_recovery(flow, record, position, span, read, false);
        close_gap(flow, record, situation);
        if (request.in_message && !opcode.starts_message()) {
            // The packets of the hole are counted when they are seen; the message's size is known without them.
            request.message_bytes += std::uint64_t{hole} * request.mtu_payload;
        } else if (request.in_message) {
            // The end of the message before lies in the hole.
            flow.ledger.end(store_.rings, record.time_ns, request.operation, position - 1, 0);
            request.message_bytes = 0;
            request.in_message = false;
        } else if (!opcode.starts_message()) {
            flow.ledger.begin(record.time_ns, operation_of(opcode));
            request.message_bytes = 0;
            request.message_first_ns = record.time_ns;
        }
        new_request(flow, record, opcode, position, span);
    } else {
        if (!past_request(flow, record, opcode, position, span, situation)) return;
        close_gap(flow, record, situation);
    }
    request.last_position = position;
    request.last_data_ns = later(request.last_data_ns, record.time_ns);
}

/// UC and UD, and RD, whose end-to-end contexts are not followed: what was sent, and for UC what is missing.
void RoceTracker::unreliable_request(Flow& flow, const PacketRecord& record, const wire::BthOpcode& opcode) {
    RequestState& request = flow.request;
    const bool ordered = flow.key.service == Service::uc;
    if (request.next == 0) request.next = first_position + record.psn;
    const std::int32_t ahead = psn_difference(record.psn, request.next);
    const std::uint64_t position = position_of(record.psn, request.next);
    if (ordered && ahead < 0 && ahead > another_life_behind) {
        if (position == request.last_position) {
            ++request.duplicates;
            store_.show(flow, EventKind::duplicate, record.frame);
            return;
        }
        ++request.reordered;
        if (request.missing > 0) --request.missing;
        store_.show(flow, EventKind::reordered, record.frame, request.next - position);
        first_sight(flow, record, opcode);
        return;
    }
    if (ordered && ahead > 0 && ahead < another_life_ahead) {
        request.missing += static_cast<std::uint32_t>(ahead);
        store_.show(flow, EventKind::gap, record.frame, static_cast<std::uint64_t>(ahead));
    }
    Situation situation;
    situation.mid_message = ordered && request.in_message && !opcode.starts_message();
    close_gap(flow, record, situation);
    if (opcode.starts_message()) {
        request.message_first_ns = record.time_ns;
        request.message_bytes = 0;
    }
    first_sight(flow, record, opcode);
    request.message_bytes += record.payload_length;
    if (opcode.ends_message()) {
        store_.record(flow, FlowHistogram::message_bytes, request.message_bytes);
        if (!opcode.starts_message())
            store_.record(flow, FlowHistogram::message_duration, elapsed(request.message_first_ns, record.time_ns));
        if (!opcode.starts_message())
            reassign_bytes(flow, operation_of(opcode), request.message_bytes - record.payload_length);
        request.message_end_ns = record.time_ns;
        request.message_bytes = 0;
    }
    request.in_message = !opcode.ends_message();
    request.next = position + 1;
    request.last_position = position;
    request.last_data_ns = later(request.last_data_ns, record.time_ns);
}

Flow* RoceTracker::requester_of(FlowIndex carrier, const PacketRecord& record) {
    Flow& flow = store_.table[carrier];
    if (flow.reverse != no_flow) {
        Flow& requester = store_.table[flow.reverse];
        const bool guessed = requester.pairing == PairingMethod::psn;
        if (!guessed || requester.request.next == 0) return &requester;
        const std::int32_t ahead = psn_difference(record.psn, requester.request.next);
        if (ahead < another_life_ahead / 64 && ahead > another_life_behind) {
            if (flow.pairing_percent < confirmed_percent && ahead <= 0)
                flow.pairing_percent = requester.pairing_percent = confirmed_percent;
            return &requester;
        }
        // These answers are about other requests: the hypothesis was wrong.
        flow.reverse = requester.reverse = no_flow;
        flow.pairing = requester.pairing = PairingMethod::none;
        flow.pairing_percent = requester.pairing_percent = 0;
    }
    if (flow.finished) return nullptr;
    const PsnPairing::Finding finding = store_.pairing.answer(flow.key, carrier, record.psn, record.time_ns);
    if (finding.requester == no_flow) return nullptr;
    store_.pair(carrier, finding.requester, PairingMethod::psn, finding.confidence);
    return &store_.table[finding.requester];
}

void RoceTracker::acknowledge(Flow& requester, std::uint64_t position, std::int64_t now_ns, std::uint64_t frame) {
    RequestState& request = requester.request;
    if (request.next == 0) return;
    if (position >= request.next && request.read_slack > 0 && position - request.next < request.read_slack) {
        request.read_slack = static_cast<std::uint16_t>(request.read_slack - (position + 1 - request.next));
        request.next = position + 1;
    }
    if (position >= request.next) {
        FlowTrouble& trouble = store_.trouble(requester);
        trouble.unseen_acknowledged +=
            static_cast<std::uint32_t>(std::min<std::uint64_t>(position + 1 - request.next, 1u << 24));
        store_.show(requester, EventKind::ack_unseen, frame, position + 1 - request.next);
        if (request.recovering) {
            trouble.recovery.lost_sight();
            request.recovering = trouble.recovery.busy();
        }
        request.next = position + 1;
        request.in_message = false;
        request.unobserved = true;
    }
    if (position < request.acknowledged) return;
    request.acknowledged = position + 1;
    const unsigned done =
        requester.ledger.acknowledge(store_.rings, now_ns, position, [&](const OutstandingMessage& message) {
            const auto operation = static_cast<Operation>(static_cast<unsigned>(message.operation));
            if (message.again) return;
            const std::uint64_t latency = elapsed(message.last_ns, now_ns);
            store_.record(requester, latency_of(operation), latency);
            keep_least(request.round_trip_min_ns, latency);
        });
    if (done > 0) request.freed_ns = now_ns;
    if (request.reuse_position != 0 && position >= request.reuse_position) {
        reuse_->turnaround(requester.key.destination, request.reuse_handle, elapsed(request.last_data_ns, now_ns));
        request.reuse_position = 0;
    }
    if (request.recovering) {
        FlowTrouble& trouble = store_.trouble(requester);
        trouble.recovery.acknowledged(position, [&](auto what, std::uint64_t value) {
            if constexpr (std::is_same_v<decltype(what), EventKind>) store_.show(requester, what, frame, value);
        });
        request.recovering = trouble.recovery.busy();
    }
}

void RoceTracker::response(FlowIndex index, const PacketRecord& record, const wire::BthOpcode& opcode) {
    Flow* const requester = requester_of(index, record);
    Flow& flow = store_.table[index];
    ResponseState& responses = flow.response;
    const std::int32_t ahead = responses.seen ? psn_difference(record.psn, responses.next_psn) : 0;
    const bool again = responses.seen && ahead < 0 && ahead > another_life_behind;
    Situation situation;
    situation.response = true;
    if (again) {
        ++responses.repeated;
        situation.again = true;
        situation.cause = responses.in_response || opcode.starts_message() ? RepeatCause::timeout : RepeatCause::none;
        store_.show(flow, EventKind::retransmission, record.frame, 1);
    } else {
        if (!opcode.starts_message() && responses.in_response && ahead > 0) {
            responses.missing += static_cast<std::uint32_t>(ahead);
            store_.show(flow, EventKind::gap, record.frame, static_cast<std::uint64_t>(ahead));
            if (requester != nullptr && requester->request.next != 0) {
                FlowTrouble& trouble = store_.trouble(*requester);
                trouble.recovery.resume(requester->request.next, requester->request.acknowledged);
                trouble.recovery.response_missing(record.time_ns,
                                                  position_of(responses.next_psn, requester->request.next));
                requester->request.recovering = trouble.recovery.busy();
            }
        }
        flow.counts.payload_bytes += record.payload_length;
        situation.mid_message = responses.in_response && !opcode.starts_message();
    }
    close_gap(flow, record, situation);
    if (!again) {
        responses.next_psn = (record.psn + 1) & psn_mask;
        responses.seen = true;
    }
    responses.in_response = !opcode.ends_message();
    if (!opcode.ends_message())
        responses.mtu_payload = static_cast<std::uint16_t>(std::min<std::uint32_t>(record.payload_length, 0xffff));
    else
        responses.message_end_ns = record.time_ns;
    flow.request.last_data_ns = later(flow.request.last_data_ns, record.time_ns);

    if (requester == nullptr || requester->request.next == 0) return;
    RequestState& request = requester->request;
    const std::uint64_t position = position_of(record.psn, request.next);
    if (opcode.starts_message()) {
        if (position > 0 && position <= request.next)
            acknowledge(*requester, position - 1, record.time_ns, record.frame);
        OutstandingMessage* const read = requester->ledger.oldest_response(store_.rings, position);
        if (read != nullptr && !read->responded && !read->again) {
            read->responded = 1;
            const std::uint64_t latency = elapsed(read->last_ns, record.time_ns);
            store_.record(*requester, FlowHistogram::first_response, latency);
            keep_least(request.round_trip_min_ns, latency);
        }
    }
    if (opcode.ends_message()) {
        const std::uint32_t responses_before = requester->ledger.responses();
        acknowledge(*requester, position, record.time_ns, record.frame);
        if (requester->ledger.responses() < responses_before) request.response_ns = record.time_ns;
    }
}

/// A NAK or RNR NAK: it acknowledges what lies before it and names what must come again. IBTA vol. 1, 9.7.5.2.8.
void RoceTracker::refused(Flow& carrier, Flow* requester, const PacketRecord& record) {
    FlowTrouble& trouble = store_.trouble(carrier);
    const std::uint8_t value = wire::value_of_syndrome(record.syndrome);
    const bool rnr = wire::kind_of_syndrome(record.syndrome) == wire::AethKind::rnr_nak;
    Flow& shown = requester != nullptr ? *requester : carrier;
    if (rnr) {
        ++trouble.rnr_naks;
        const std::uint64_t timer_ns = std::uint64_t{wire::rnr_timer_us[value]} * 1000;
        store_.record(shown, FlowHistogram::rnr_timer, timer_ns);
        store_.show(shown, EventKind::rnr_nak, record.frame, timer_ns);
    } else {
        const auto code = std::min<std::size_t>(value, nak_code_count - 1);
        ++trouble.naks[code];
        store_.show(shown, EventKind::nak, record.frame, code);
    }
    if (requester == nullptr || requester->request.next == 0) return;
    RequestState& request = requester->request;
    const std::uint64_t position = position_of(record.psn, request.next);
    acknowledge(*requester, position - 1, record.time_ns, record.frame);
    if (position > request.next) return;
    FlowTrouble& recovering = store_.trouble(*requester);
    recovering.last_nak_ns = record.time_ns;
    if (!request.recovering) recovering.recovery.resume(request.next, request.acknowledged);
    const NakKind kind = rnr ? NakKind::rnr : value == 0 ? NakKind::sequence : NakKind::other;
    const std::int64_t sent_ns = position == request.last_position ? request.last_data_ns : Situation::never;
    recovering.recovery.nak(record.time_ns, position, kind, sent_ns, [&](auto what, std::uint64_t figure) {
        if constexpr (std::is_same_v<decltype(what), EventKind>)
            store_.show(*requester, what, record.frame, figure);
        else if (what == RecoveryStep::nak_generation)
            store_.record(*requester, FlowHistogram::nak_generation, figure);
    });
    request.recovering = recovering.recovery.busy();
}

void RoceTracker::acknowledgement(FlowIndex index, const PacketRecord& record, const wire::BthOpcode& opcode) {
    Flow* const requester = requester_of(index, record);
    Flow& flow = store_.table[index];
    ++flow.counts.acknowledgements;
    const wire::AethKind kind = wire::kind_of_syndrome(record.syndrome);
    if (kind == wire::AethKind::rnr_nak || kind == wire::AethKind::nak) {
        refused(flow, requester, record);
        return;
    }
    if (kind == wire::AethKind::reserved) return;
    const std::uint8_t credits = wire::value_of_syndrome(record.syndrome);
    if (credits != wire::no_credit_limit) {
        if (credits == 0 && flow.credits != 0 && requester != nullptr) {
            ++store_.trouble(flow).credits_exhausted;
            store_.show(*requester, EventKind::credit_exhausted, record.frame);
        }
        flow.credits = credits;
    }
    if (requester == nullptr || requester->request.next == 0) return;
    const bool atomic = opcode.operation == wire::BthOperation::atomic_acknowledge;
    acknowledge(*requester, position_of(record.psn, requester->request.next), record.time_ns, record.frame);
    if (atomic) requester->request.response_ns = record.time_ns;
}

/// A CNP tells the sender of the reverse flow to slow down. IBTA annex A17.
void RoceTracker::notification(Flow& flow, const PacketRecord& record) {
    FlowTrouble& trouble = store_.trouble(flow);
    Flow& throttled = flow.reverse != no_flow ? store_.table[flow.reverse] : flow;
    ++trouble.cnps;
    if (trouble.last_cnp_ns != Situation::never)
        store_.record(throttled, FlowHistogram::cnp_interval, elapsed(trouble.last_cnp_ns, record.time_ns));
    trouble.last_cnp_ns = record.time_ns;
    store_.show(throttled, EventKind::cnp, record.frame);
}

}  // namespace metrics
