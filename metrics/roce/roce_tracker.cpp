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
/// With nothing outstanding nobody goes back, and what is skipped is no more than the capture may have lost.
constexpr std::int32_t idle_life_behind = -2048;
constexpr std::int32_t idle_life_ahead = 1 << 16;
/// A network that doubles or overtakes packets does so within this, where no round trip is known; timers are longer.
constexpr std::uint64_t network_disorder_ns = 1'000'000;
/// How far before the first packet seen its neighbours may come after it.
constexpr std::uint64_t reach_before = 64;
/// So many packets in a row with growing identifications, and the sender is known to count them.
constexpr std::uint8_t orderly_enough = 4;
constexpr std::uint8_t orderly_most = 16;

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

/// Whether the last acknowledgement allows no further message that takes a receive. IBTA vol. 1, 9.7.7.2.
bool lacks_credit(const Flow& carrier, const Flow& requester) {
    return carrier.credits < wire::credits_of_code.size() &&
           requester.ledger.messages() >= wire::credits_of_code[carrier.credits];
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
void reassign_bytes(FlowStore& store, Flow& flow, Operation operation, std::uint64_t bytes) {
    const Operation plain = operation == Operation::write_immediate ? Operation::write
                            : operation == Operation::send_immediate || operation == Operation::send_invalidate
                                ? Operation::send
                                : operation;
    store.count(flow, plain).bytes -= bytes;
    store.count(flow, operation).bytes += bytes;
}

/// IPv4's identification says in which order a sender made its packets, where it counts them. RFC 6864 does not ask for
/// it, adapters and Linux do it.
enum class Made : std::uint8_t { unknown, earlier, same, later };

Made made(const RequestState& request, std::uint16_t identification, std::uint16_t reference) {
    if (request.orderly < orderly_enough) return Made::unknown;
    const auto difference = static_cast<std::int16_t>(static_cast<std::uint16_t>(identification - reference));
    return difference < 0 ? Made::earlier : difference == 0 ? Made::same : Made::later;
}

std::uint32_t print_of(std::uint64_t position, std::uint16_t identification) {
    return static_cast<std::uint32_t>(identification) << 16 | static_cast<std::uint16_t>(position);
}

/// One of the last few data packets had this position and identification.
bool is_recent(const RequestState& request, std::uint64_t position, std::uint16_t identification) {
    const std::uint32_t print = print_of(position, identification);
    return std::find(request.recent.begin(), request.recent.end(), print) != request.recent.end();
}

void note_identification(RequestState& request, std::uint64_t position, std::uint16_t identification) {
    request.recent[position % request.recent.size()] = print_of(position, identification);
    const auto grown = static_cast<std::int16_t>(static_cast<std::uint16_t>(identification - request.identification));
    request.identification = identification;
    if (grown > 0)
        request.orderly = static_cast<std::uint8_t>(std::min<unsigned>(request.orderly + 1u, orderly_most));
    else
        request.orderly = static_cast<std::uint8_t>(request.orderly / 2);
}

void note_missing(MissingRanges& missing, std::uint64_t begin, std::uint64_t end, std::int64_t now_ns,
                  std::uint16_t identification) {
    MissingRanges::Range* place = &missing.ranges[0];
    for (MissingRanges::Range& range : missing.ranges) {
        if (range.begin == range.end) {
            place = &range;
            break;
        }
        if (range.noticed_ns < place->noticed_ns) place = &range;  // the oldest is given up
    }
    *place = {begin, end, now_ns, identification};
}

/// Whether the position was missing; it no longer is. `out` is the stretch that it lay in.
bool take_missing(MissingRanges& missing, std::uint64_t position, MissingRanges::Range& out) {
    for (MissingRanges::Range& range : missing.ranges) {
        if (position < range.begin || position >= range.end) continue;
        out = range;
        range.end = position;
        if (position + 1 < out.end) {
            if (range.begin == range.end)
                range = {position + 1, out.end, out.noticed_ns, out.identification};
            else
                note_missing(missing, position + 1, out.end, out.noticed_ns, out.identification);
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
        damaged(flow, record, opcode);
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

void RoceTracker::damaged(Flow& flow, const PacketRecord& record, const wire::BthOpcode& opcode) {
    ++flow.counts.crc_bad;
    store_.show(flow, EventKind::icrc_bad, record.frame);
    if (opcode.role != wire::BthRole::request || flow.request.next == 0) return;
    // The hole that it leaves is no loss before the tap.
    FlowTrouble& trouble = store_.trouble(flow);
    const std::uint64_t position = position_of(record.psn, flow.request.next);
    if (position < flow.request.next) ++flow.request.repeated;
    trouble.damaged[trouble.damaged_next] = position;
    trouble.damaged_next = static_cast<std::uint8_t>((trouble.damaged_next + 1u) % trouble.damaged.size());
}

void RoceTracker::count(Flow& flow, const PacketRecord& record) {
    PacketCounts& counts = flow.counts;
    ++counts.packets;
    counts.wire_bytes += record.wire_length;
    counts.first_ns = std::min(counts.first_ns, record.time_ns);
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
        (record.direction == wire::Direction::inbound ? flow.inbound : flow.outbound) = true;
    if (counts.packets == 1) {
        if (record.hop_limit != 0) flow.hops = hops_taken(record.hop_limit);
        flow.interface = static_cast<std::uint16_t>(std::min(record.interface, 0xffffu));
        flow.traffic_class = record.traffic_class;
    }
    if (record.source_qp != 0xffffffff) flow.source_qp = record.source_qp;
}

std::uint32_t RoceTracker::read_span(const Flow& flow, std::uint32_t length) const {
    if (length == 0) return 1;
    std::uint32_t mtu = flow.request.mtu_payload;
    if (mtu == 0 && flow.reverse != no_flow) {
        const Flow& reverse = store_.table[flow.reverse];
        const ResponseState* const responses = store_.responder_of(reverse);
        mtu = std::max(responses != nullptr ? responses->mtu_payload : std::uint16_t{0}, reverse.request.mtu_payload);
    }
    return mtu == 0 ? 0 : (length + mtu - 1) / mtu;
}

void RoceTracker::close_gap(Flow& flow, const PacketRecord& record, Situation& situation) {
    situation.now_ns = record.time_ns;
    situation.wire_bytes = record.wire_bytes();
    if (flow.reverse != no_flow) {
        const Flow& reverse = store_.table[flow.reverse];
        situation.inbound_ns = reverse.request.message_end_ns;
        const wire::BthOpcode& opcode = wire::bth_opcode(record.opcode);
        const bool takes_receive = opcode.operation == wire::BthOperation::send || opcode.has_immediate();
        if (takes_receive && opcode.starts_message() && opcode.role == wire::BthRole::request) {
            situation.credit_exhausted = lacks_credit(reverse, flow);
            situation.credit_freed_ns = flow.request.credit_freed_ns;
        }
        if (reverse.trouble != Flow::no_block) situation.signal_ns = store_.troubles[reverse.trouble].last_cnp_ns;
    }
    situation.unobserved = flow.request.unobserved;
    flow.request.unobserved = false;
    store_.close_gap(flow, situation, record.context, record.frame);
    if (flow.trouble != Flow::no_block) store_.troubles[flow.trouble].rate.data(record.time_ns, record.wire_bytes());
}

/// Bytes and messages, each counted when it is seen for the first time.
void RoceTracker::first_sight(Flow& flow, const PacketRecord& record, const wire::BthOpcode& opcode) {
    const Operation operation = operation_of(opcode);
    flow.counts.payload_bytes += record.payload_length;
    OperationCounts::Count& counted = store_.count(flow, operation);
    counted.bytes += moved_by(record, opcode);
    if (opcode.ends_message()) ++counted.messages;
}

void RoceTracker::notice_reuse(Flow& flow, const PacketRecord& record, std::uint64_t position) {
    const ReuseTracker::Access access{record.time_ns,         record.context.destination_requests,
                                      flow.reuse_clock,       record.remote_key,
                                      record.virtual_address, record.has_remote_key ? record.dma_length : 0};
    flow.reuse_clock = record.context.destination_requests;
    if (flow.reuse_responder == ReuseTracker::no_responder)
        flow.reuse_responder = reuse_->responder(record.key.destination);
    const std::uint32_t handle = reuse_->access(flow.reuse_responder, record.key.source, access);
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
    OperationCounts::Count& counted = store_.count(flow, operation);
    counted.bytes += moved;
    if (opcode.starts_message()) {
        request.message_bytes = 0;
        request.message_counted = 0;
        request.message_first_ns = record.time_ns;
        request.message_again = false;
        request.operation = operation;
        if (reuse_ != nullptr) notice_reuse(flow, record, last);
    }
    request.message_bytes += moved;
    request.message_counted += moved;
    if (opcode.ends_message()) {
        const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(request.message_bytes, 0xffffffff));
        ++counted.messages;
        if (!opcode.starts_message()) reassign_bytes(store_, flow, operation, request.message_counted - moved);
        store_.record_message(flow, request.message_bytes);
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
        packet,
        {vantage == Vantage::sender, vantage == Vantage::receiver, std::uint64_t{flow.request.ack_timeout_us} * 1000},
        report);
    flow.request.recovering = trouble.recovery.busy();
    return cause;
}

/// Whether a packet of a position that is not new was delayed or doubled by the network, and not sent again.
bool RoceTracker::is_late(const Flow& flow, const FlowTrouble& trouble, const PacketRecord& record,
                          std::uint64_t position, const MissingRanges::Range* hole) const {
    const RequestState& request = flow.request;
    const bool counted = request.orderly >= orderly_enough;
    const bool copied = is_recent(request, position, record.identification);
    if (counted && copied) return true;
    if (hole != nullptr) {
        const Made order = made(request, record.identification, hole->identification);
        if (order != Made::unknown) return order != Made::later;
    } else if (counted || (!copied && position == request.last_position && record.identification != 0)) {
        return false;  // not the packet that passed before, so its sender has made it again
    }
    if (trouble.recovery.running()) return false;
    const std::uint64_t silence = elapsed(request.last_data_ns, record.time_ns);
    if (trouble.recovery.pending() == RepeatCause::none) {
        // Without a signal only a timer makes the sender repeat, and no timer is shorter than the round trip.
        const std::uint64_t quiet =
            request.round_trip_min_ns != 0xffffffff ? request.round_trip_min_ns : network_disorder_ns;
        return silence < quiet;
    }
    if (hole == nullptr || trouble.last_nak_ns == Situation::never) return false;
    // The NAK is not at the sender yet: this packet was under way before.
    const Flow* const reverse = flow.reverse == no_flow ? nullptr : &store_.table[flow.reverse];
    const std::uint32_t there_and_back = reverse != nullptr && reverse->request.round_trip_min_ns != 0xffffffff
                                             ? reverse->request.round_trip_min_ns
                                             : request.reaction_min_ns;
    return there_and_back != 0xffffffff && elapsed(trouble.last_nak_ns, record.time_ns) < there_and_back / 2;
}

/// A position that a new packet has had already. Returns false where nothing is to be attributed: the network's doing.
bool RoceTracker::past_request(Flow& flow, const PacketRecord& record, const wire::BthOpcode& opcode,
                               std::uint64_t position, std::uint32_t span, Situation& situation) {
    RequestState& request = flow.request;
    FlowTrouble& trouble = store_.trouble(flow);
    MissingRanges::Range hole;
    const bool before = position < request.base && request.base - position <= reach_before;
    if (before) {
        // The first packet that the capture holds was not the first of its neighbours.
        note_missing(trouble.missing, position, request.base, request.message_first_ns, request.identification);
        request.base = position;
    }
    const bool fills = take_missing(trouble.missing, position, hole);
    const std::uint64_t silence = elapsed(request.last_data_ns, record.time_ns);
    const bool late = is_late(flow, trouble, record, position, fills ? &hole : nullptr);
    const bool busy = request.recovering;
    const bool running = trouble.recovery.running();
    if (!busy) trouble.recovery.resume(request.next, request.acknowledged, request.last_data_ns);
    const RepeatCause cause =
        tell_recovery(flow, record, position, span, opcode.operation == wire::BthOperation::read_request, late);
    if (fills) {
        first_sight(flow, record, opcode);
        if (opcode.ends_message()) flow.ledger.end_late(record.time_ns, position);
        if (late) {
            ++request.reordered;
            if (request.missing > 0 && !before) --request.missing;
            store_.show(flow, EventKind::reordered, record.frame, request.next - position);
        }
    } else if (late) {
        ++request.duplicates;
        store_.show(flow, EventKind::duplicate, record.frame);
    }
    if (late) return false;
    ++request.repeated;
    if (cause != RepeatCause::none) {
        store_.show(flow, EventKind::retransmission, record.frame, 1);
        if (cause == RepeatCause::timeout) {
            ++trouble.timeouts;
            store_.show(flow, EventKind::timeout, record.frame, silence);
        }
    }
    // A sender that goes back repeats all that followed.
    const bool alone = !running && position + 1 < request.next && request.orderly < orderly_enough;
    if (fills && (alone || trouble.recovery.leapt())) {
        trouble.doubtful = position;
    } else {
        if (request.in_message) request.message_again = true;
        flow.ledger.mark_again(store_.rings, position);
    }
    trouble.doubtful_timeout = cause == RepeatCause::timeout;
    situation.again = true;
    situation.cause = cause;
    return true;
}

/// What comes next shows whether a packet that filled a hole and was taken for one sent again had only been late. A
/// sender that goes back begins with the oldest, repeats all that followed and never returns to an older one: so it was
/// late where an older one follows, or new data what seemed the begin of going back.
void RoceTracker::decide_doubt(Flow& flow, std::uint64_t position) {
    FlowTrouble& trouble = store_.troubles[flow.trouble];
    RequestState& request = flow.request;
    const std::uint64_t doubtful = trouble.doubtful;
    if (doubtful == 0) return;
    trouble.doubtful = 0;
    const bool leapt = trouble.recovery.leapt();
    if (position >= doubtful && (leapt || position < request.next)) {
        flow.ledger.mark_again(store_.rings, doubtful);
        return;
    }
    --request.repeated;
    ++request.reordered;
    if (request.missing > 0) --request.missing;
    if (trouble.doubtful_timeout) --trouble.timeouts;
    trouble.recovery.was_late();
    request.recovering = trouble.recovery.busy();
}

/// A message that begins far from where the last one ended: another connection has been given the same QPN.
bool RoceTracker::is_another_life(const Flow& flow, const PacketRecord& record, const wire::BthOpcode& opcode) const {
    const RequestState& request = flow.request;
    if (request.next == 0 || !opcode.starts_message()) return false;
    const std::int32_t ahead = psn_difference(record.psn, request.next);
    if (ahead >= idle_life_behind && ahead < idle_life_ahead) [[likely]]
        return false;
    if (flow.ledger.messages() == 0 && !request.in_message && !request.recovering) return true;
    return ahead < another_life_behind || ahead > another_life_ahead;
}

FlowIndex RoceTracker::begin_another_life(FlowIndex index, const PacketRecord& record) {
    const FlowKey key = store_.table[index].key;
    const std::uint32_t connection = store_.table[index].connection;
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
        count(flow, record);
    }
    return fresh;
}

void RoceTracker::reliable_request(FlowIndex index, const PacketRecord& record, const wire::BthOpcode& opcode) {
    if (is_another_life(store_.table[index], record, opcode)) index = begin_another_life(index, record);
    Flow& flow = store_.table[index];
    RequestState& request = flow.request;
    const bool read = opcode.operation == wire::BthOperation::read_request;
    const std::uint32_t span = read ? read_span(flow, record.dma_length) : 1;
    if (flow.reverse == no_flow)
        store_.pairing.request(flow.key, index, record.psn, std::max(span, 1u), record.time_ns);
    if (request.next == 0) {
        request.next = first_position + record.psn;
        request.acknowledged = request.base = request.next;
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
    if (flow.trouble != Flow::no_block) decide_doubt(flow, position);
    if (ahead == 0) [[likely]] {
        situation.mid_message = request.in_message && !opcode.starts_message();
        const bool held_back = request.freed_ns > request.last_data_ns && request.last_data_ns != Situation::never;
        note_identification(request, position, record.identification);
        close_gap(flow, record, situation);
        // Which acknowledgement set the packet free is plain where nothing else was under way.
        if (held_back && flow.ledger.messages_max() == 1 && flow.attribution.last_state() == State::ack_window)
            keep_least(request.reaction_min_ns, elapsed(request.freed_ns, record.time_ns));
        if (request.recovering) tell_recovery(flow, record, position, span, read, false);
        new_request(flow, record, opcode, position, span);
    } else if (ahead > 0) {
        FlowTrouble& trouble = store_.trouble(flow);
        const auto hole = static_cast<std::uint32_t>(ahead);
        std::uint32_t lost = hole;
        for (const std::uint64_t damaged : trouble.damaged)
            if (damaged >= request.next && damaged < position && lost > 0) --lost;
        request.missing += lost;
        note_missing(trouble.missing, request.next, position, record.time_ns, record.identification);
        if (lost > 0) store_.show(flow, EventKind::gap, record.frame, lost);
        if (!request.recovering) trouble.recovery.resume(request.next, request.acknowledged, request.last_data_ns);
        note_identification(request, position, record.identification);
        tell_recovery(flow, record, position, span, read, false);
        close_gap(flow, record, situation);
        if (request.in_message && !opcode.starts_message()) {
            // The packets of the hole are counted when they are seen; the message's size is known without them.
            request.message_bytes += std::uint64_t{hole} * request.mtu_payload;
        } else if (request.in_message) {
            // The end of the message before lies in the hole.
            flow.ledger.end(store_.rings, record.time_ns, request.operation, position - 1, 0);
            request.message_bytes = request.message_counted = 0;
            request.in_message = false;
        } else if (!opcode.starts_message()) {
            flow.ledger.begin(record.time_ns, operation_of(opcode));
            request.message_bytes = request.message_counted = 0;
            request.message_first_ns = record.time_ns;
        }
        new_request(flow, record, opcode, position, span);
    } else {
        if (!past_request(flow, record, opcode, position, span, situation)) return;
        request.identification = record.identification;
        request.recent[position % request.recent.size()] = print_of(position, record.identification);
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
        store_.record_message(flow, request.message_bytes);
        if (!opcode.starts_message())
            store_.record(flow, FlowHistogram::message_duration, elapsed(request.message_first_ns, record.time_ns));
        if (!opcode.starts_message())
            reassign_bytes(store_, flow, operation_of(opcode), request.message_bytes - record.payload_length);
        request.message_end_ns = record.time_ns;
        request.message_bytes = 0;
    }
    request.in_message = !opcode.ends_message();
    request.next = position + 1;
    request.last_position = position;
    request.last_data_ns = later(request.last_data_ns, record.time_ns);
}

/// Whose requests the packet on `carrier` answers; nullptr where that is not known. The carrier may turn out to be
/// another life of its key: then its index changes.
Flow* RoceTracker::requester_of(FlowIndex& carrier, const PacketRecord& record) {
    Flow* flow = &store_.table[carrier];
    if (flow->reverse != no_flow) {
        Flow& requester = store_.table[flow->reverse];
        const bool guessed = requester.pairing == PairingMethod::psn;
        if (!guessed || requester.request.next == 0) return &requester;
        const std::int32_t ahead = psn_difference(record.psn, requester.request.next);
        if (!requester.finished && ahead < idle_life_ahead / 4 && ahead > another_life_behind) {
            if (flow->pairing_percent < confirmed_percent && ahead <= 0)
                flow->pairing_percent = requester.pairing_percent = confirmed_percent;
            return &requester;
        }
        if (requester.finished && ahead <= 0 && ahead > idle_life_behind) return &requester;  // a late answer
        if (flow->pairing_percent >= confirmed_percent) {
            // Sure of its partner, and now answering somebody else: the QPN has another life.
            carrier = begin_another_life(carrier, record);
            flow = &store_.table[carrier];
        } else {
            // These answers are about other requests: the hypothesis was wrong.
            flow->reverse = requester.reverse = no_flow;
            flow->pairing = requester.pairing = PairingMethod::none;
            flow->pairing_percent = requester.pairing_percent = 0;
        }
    }
    if (flow->finished) return nullptr;
    const PsnPairing::Finding finding = store_.pairing.answer(flow->key, carrier, record.psn, record.time_ns);
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
    if (request.recovering) {
        const std::uint64_t doubtful = store_.trouble(requester).doubtful;
        if (doubtful != 0 && doubtful <= position) requester.ledger.mark_again(store_.rings, doubtful);
    }
    const unsigned done =
        requester.ledger.acknowledge(store_.rings, now_ns, position, [&](const OutstandingMessage& message) {
            const auto operation = static_cast<Operation>(static_cast<unsigned>(message.operation));
            if (message.again) return;
            const std::uint64_t latency = elapsed(message.last_ns, now_ns);
            store_.record(requester, latency_of(operation), latency);
            keep_least(request.round_trip_min_ns, latency);
        });
    if (done > 0) {
        request.freed_ns = now_ns;
        request.freed_messages = done;
        requester.attribution.freed(now_ns);
    }
    if (request.reuse_position != 0 && position >= request.reuse_position) {
        reuse_->turnaround(requester.reuse_responder, request.reuse_handle, elapsed(request.last_data_ns, now_ns));
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
    ResponseState& responses = store_.responder(flow);
    if (responses.next == 0) responses.next = first_position + record.psn;
    const std::int32_t ahead = psn_difference(record.psn, responses.next);
    const std::uint64_t here = position_of(record.psn, responses.next);
    const bool known = requester != nullptr && requester->request.next != 0;
    Situation situation;
    situation.response = true;
    if (opcode.starts_message()) responses.incomplete = false;
    if (ahead < 0 && ahead > another_life_behind) {
        MissingRanges::Range hole;
        // Responses come again because their request did: the responder was told.
        if (take_missing(store_.trouble(flow).missing_responses, here, hole))
            flow.counts.payload_bytes += record.payload_length;
        ++responses.repeated;
        situation.again = true;
        if (!responses.repeating) {
            situation.cause = RepeatCause::nak;
            store_.show(flow, EventKind::retransmission, record.frame, 1);
        }
        responses.repeating = true;
    } else {
        responses.repeating = false;
        if (ahead > 0 && responses.in_response && !opcode.starts_message()) {
            const auto hole = static_cast<std::uint32_t>(ahead);
            responses.missing += hole;
            responses.incomplete = true;
            note_missing(store_.trouble(flow).missing_responses, responses.next, here, record.time_ns, 0);
            store_.show(flow, EventKind::gap, record.frame, hole);
            if (known)
                lost_response(*requester, record,
                              position_of(static_cast<std::uint32_t>(responses.next), requester->request.next));
        }
        flow.counts.payload_bytes += record.payload_length;
        situation.mid_message = responses.in_response && !opcode.starts_message();
        responses.next = here + 1;
    }
    close_gap(flow, record, situation);
    responses.in_response = !opcode.ends_message();
    if (!opcode.ends_message())
        responses.mtu_payload = static_cast<std::uint16_t>(std::min<std::uint32_t>(record.payload_length, 0xffff));
    else
        responses.message_end_ns = record.time_ns;
    flow.request.last_data_ns = later(flow.request.last_data_ns, record.time_ns);
    if (known) answered(*requester, flow, record, opcode);
}

/// A response to a later READ, or a later response to the same, while one is missing: as good as a NAK. IBTA 9.7.5.2.8.
void RoceTracker::lost_response(Flow& requester, const PacketRecord& record, std::uint64_t position) {
    FlowTrouble& trouble = store_.trouble(requester);
    if (!requester.request.recovering)
        trouble.recovery.resume(requester.request.next, requester.request.acknowledged, requester.request.last_data_ns);
    trouble.recovery.response_missing(record.time_ns, position);
    requester.request.recovering = trouble.recovery.busy();
    if (trouble.response_gap_ns == Situation::never) trouble.response_gap_ns = record.time_ns;
}

bool RoceTracker::gap_known(const Flow& requester) const {
    const FlowTrouble* const trouble = store_.trouble_of(requester);
    return trouble != nullptr && trouble->response_gap_ns != Situation::never;
}

void RoceTracker::answered(Flow& requester, Flow& carrier, const PacketRecord& record, const wire::BthOpcode& opcode) {
    ResponseState& responses = store_.responder(carrier);
    RequestState& request = requester.request;
    const std::uint64_t position = position_of(record.psn, request.next);
    OutstandingMessage* const oldest = requester.ledger.oldest_response(store_.rings, 0);
    if (opcode.starts_message()) {
        responses.message_position = position;
        const bool skipped = oldest != nullptr && oldest->position < position && oldest->merged == 0;
        if (skipped) {
            // The oldest READ was not answered to its end: its responses were lost, here or before the tap.
            if (!gap_known(requester)) {
                const std::uint64_t begin = std::max(oldest->position, request.acknowledged);
                note_missing(store_.trouble(carrier).missing_responses,
                             position_of(static_cast<std::uint32_t>(begin), responses.next),
                             position_of(record.psn, responses.next), record.time_ns, 0);
                lost_response(requester, record, begin);
            }
        } else if (position <= request.next) {
            acknowledge(requester, position - 1, record.time_ns, record.frame);
        }
        OutstandingMessage* const read = requester.ledger.oldest_response(store_.rings, position);
        if (read != nullptr && !read->responded && !read->again && !skipped &&
            static_cast<Operation>(static_cast<unsigned>(read->operation)) == Operation::read) {
            read->responded = 1;
            const std::uint64_t latency = elapsed(read->last_ns, record.time_ns);
            store_.record(requester, FlowHistogram::first_response, latency);
            keep_least(request.round_trip_min_ns, latency);
        }
    }
    if (!opcode.ends_message() || responses.incomplete) return;
    if (gap_known(requester)) {
        std::int64_t& gap_ns = store_.troubles[requester.trouble].response_gap_ns;
        // Until the missing one has come, the requester drops what follows. Where it goes on all the same, for READs
        // that it posted long after, the tap has missed what the requester got.
        const OutstandingMessage* const waiting = requester.ledger.oldest_response(store_.rings, 0);
        if (waiting != nullptr && waiting->merged == 0 && waiting->position < responses.message_position) {
            const OutstandingMessage* const mine =
                requester.ledger.oldest_response(store_.rings, responses.message_position);
            const std::uint64_t patience =
                10 * (request.round_trip_min_ns != 0xffffffff ? std::uint64_t{request.round_trip_min_ns}
                                                              : network_disorder_ns);
            const bool long_after =
                mine != nullptr && mine->last_ns > gap_ns && elapsed(gap_ns, mine->last_ns) > patience;
            if (!long_after) return;
        }
        gap_ns = Situation::never;
    }
    const std::uint32_t responses_before = requester.ledger.responses();
    acknowledge(requester, position, record.time_ns, record.frame);
    if (requester.ledger.responses() < responses_before) request.response_ns = record.time_ns;
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
    if (position > request.next) {
        acknowledge(*requester, position - 1, record.time_ns, record.frame);
        return;
    }
    FlowTrouble& recovering = store_.trouble(*requester);
    recovering.last_nak_ns = record.time_ns;
    if (!request.recovering) recovering.recovery.resume(request.next, request.acknowledged, request.last_data_ns);
    const NakKind kind = rnr ? NakKind::rnr : value == 0 ? NakKind::sequence : NakKind::other;
    const std::int64_t sent_ns = position == request.last_position ? request.last_data_ns : Situation::never;
    recovering.recovery.nak(record.time_ns, position, kind, sent_ns, [&](auto what, std::uint64_t figure) {
        if constexpr (std::is_same_v<decltype(what), EventKind>)
            store_.show(*requester, what, record.frame, figure);
        else if (what == RecoveryStep::nak_generation)
            store_.record(*requester, FlowHistogram::nak_generation, figure);
    });
    request.recovering = recovering.recovery.busy();
    // It acknowledges what lies before it; recovery knows that already.
    acknowledge(*requester, position - 1, record.time_ns, record.frame);
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
    const bool lacked = requester != nullptr && lacks_credit(flow, *requester);
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
    if (lacked && !lacks_credit(flow, *requester)) requester->request.credit_freed_ns = record.time_ns;
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
    store_.trouble(throttled).rate.signal(record.time_ns);
}

}  // namespace metrics
