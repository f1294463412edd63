#include "metrics/measure/iwarp/sender.h"

#include <algorithm>
#include <utility>

#include "dissect/tcp/tcp_checksum.h"
#include "metrics/measure/iwarp/sender_inline.h"

namespace metrics::inline measure::iwarp {

using dissect::tcp::ChecksumVerdict;

namespace {

/// How late a segment may be on a path with an unknown round trip, or after its acknowledgement.
constexpr std::uint64_t network_disorder_ns = 1'000'000;
/// Data from the first byte on must begin this close to the SYN, or bytes passed before RDMA was known.
constexpr std::uint32_t early_bytes = 65536;

}  // namespace

/// Whether the receiver has accepted the segment, as far as its checksum shows. Learns whether the sender's checksums
/// are real in this capture: a capture at the sender sees them before the adapter fills them in.
bool Sender::is_trusted(SentData& sent, const Segment& segment) {
    constexpr std::uint8_t wrong_that_decide = 3;
    if (sent.checksums == ChecksumVerdict::wrong) return true;
    const ChecksumVerdict verdict = dissect::tcp::verify_tcp_checksum(segment.dissection, segment.frame.bytes);
    if (sent.checksums == ChecksumVerdict::right) return verdict != ChecksumVerdict::wrong;
    if (verdict == ChecksumVerdict::right) sent.checksums = verdict;
    if (verdict == ChecksumVerdict::wrong && ++sent.wrong_checksums == wrong_that_decide) sent.checksums = verdict;
    return true;
}

/// The first bytes seen of a direction.
void Sender::begin(const Half& half, const Segment& segment) {
    const SentData& sent = half.sent();
    std::uint32_t sequence = segment.tcp().sequence;
    const std::uint32_t first = sent.initial_sequence + 1;
    if (sent.sequence_known && sequence - first < early_bytes) sequence = first;
    half.request().next = half.request().acknowledged = first_position + sequence;
}

void Sender::reset(const Half& half, const Half& back, const Segment& segment) {
    if (segment.tcp().stray_reset) return;
    store_.show(*half.flow, EventKind::reset, segment.frame.number);
    half.direction->closed = true;
    if (back) back.direction->closed = true;
}

void Sender::finish(const Half& half, const Half& back, const Segment& segment) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    direction.sent.fin_sent = true;
    store_.show(*half.flow, EventKind::disconnected, segment.frame.number);
    if (back && back.sent().fin_sent) direction.closed = back.direction->closed = true;
    const std::uint64_t end = position_of(request.next, segment.tcp().sequence + segment.tcp().payload_length) + 1;
    if (request.next != 0 && end > request.next && end - request.next <= early_bytes) request.next = end;
}

void Sender::any_payload(const Half& half, const Half& back, const Segment& segment) {
    Direction& direction = *half.direction;
    SentData& sent = half.sent();
    RequestState& request = half.request();
    if (request.next == 0) begin(half, segment);
    const std::uint32_t length = segment.tcp().payload_length;
    const std::int32_t ahead = ahead_of(request.next, segment.tcp().sequence);
    const std::uint64_t begin = position_of(request.next, segment.tcp().sequence);
    const Arrival arrival{segment, begin, begin + length, segment.timestamp(), segment.identification()};
    if (sent.checksums == ChecksumVerdict::unknown || ahead != 0) {
        if (!is_trusted(sent, segment)) return;
    }
    if (length <= 1 && ahead == -1) return;  // keep-alive. RFC 9293, 3.8.4
    if (length == 1 && ahead >= 0 && half.received().window.holds_back(begin + 1)) {
        sent.probed = true;  // window probe. RFC 9293, 3.8.6.1
        return;
    }
    if (sent.elsewhere.takes(segment.tcp().sequence, segment.tcp().sequence + length,
                             static_cast<std::uint32_t>(request.next),
                             static_cast<std::uint32_t>(request.acknowledged)))
        return jump(half, segment);
    if (ahead > largest_window || ahead < -largest_window) return;
    if (ahead >= 0) {
        // Lost before the capture point or overtaken: the sender's time is known all the same. Whether the capture lost
        // them, the acknowledgement will show.
        if (ahead > 0) note_hole(half, arrival, request.next, begin);
        fresh(half, back, arrival);
    } else if (answered_early(half, back, arrival)) {
        return;
    } else {
        Situation situation;
        if (!past_data(half, arrival, situation)) return;
        FpduHead head;
        const std::uint8_t opcode = read_head(segment.payload(), head) ? head.opcode : direction.walk.opcode();
        situation.response = is_response(opcode);
        situation.wants_response = wants_answer(opcode);
        close_gap(half, back, arrival, situation);
        if (arrival.end > request.next) {
            const std::uint64_t known = request.next - begin;
            const base::Bytes bytes = segment.payload();
            direction.walk.advance(request.next, arrival.end,
                                   bytes.subspan(std::min<std::size_t>(known, bytes.size())));
            sent.new_bytes += arrival.end - request.next;
            request.next = arrival.end;
        }
    }
    passed(half, arrival);
}

/// Of a common segment that Attribution's rules must look at.
void Sender::close_by_rules(const Half& half, const Half& back, const Segment& segment, bool mid_message) {
    const std::uint64_t begin = half.request().next;
    Situation situation;
    situation.mid_message = mid_message;
    close_gap(half, back, {segment, begin, begin + segment.tcp().payload_length, {}, {}}, situation);
}

/// The number of segments that `bytes` bytes will have been, as the sender makes them: not every one fills the MSS. Of
/// the start frame alone nothing is known of that.
std::uint32_t Sender::segments_of(const Direction& direction, std::uint32_t length, std::uint64_t bytes) {
    auto segment = std::max<std::uint64_t>({direction.sent.largest_segment, length, 1});
    if (direction.sent.last_fpdu_bytes == 0) segment = std::max<std::uint64_t>(segment, direction.received.mss);
    return static_cast<std::uint32_t>((bytes + segment - 1) / segment);
}

void Sender::note_hole(const Half& half, const Arrival& arrival, std::uint64_t begin, std::uint64_t end) {
    SentData& sent = half.sent();
    const std::uint64_t bytes = end - begin;
    const std::uint32_t packets = segments_of(*half.direction, arrival.segment.tcp().payload_length, bytes);
    half.request().missing += packets;
    ++sent.out_of_order;
    store_.show(*half.flow, EventKind::gap, arrival.frame(), bytes);
    Holes* const holes = holes_.obtain(sent);
    store_.observe(
        [&](ObservedFlows& observed) { observed.signals(*half.flow).note_hole(arrival.now_ns(), arrival.frame()); });
    const bool kept =
        holes != nullptr && holes->note({begin, end, arrival.now_ns(), arrival.order(sent), false, packets});
    if (!kept) sent.holes_lost = arrival.end;
}

/// Bytes that fill a hole were overtaken, or sent again because they were lost before the capture point. If the
/// segments do not show in which order they were made: a repeat takes a report of the receiver, and its way to the
/// sender.
bool Sender::is_late(const Half& half, const Hole& hole, const Arrival& arrival) const {
    const int order = arrival.order(half.sent()).compare(hole.order);
    if (order != 0) return order < 0;
    if (half.received().losses.duplicates_show_loss()) return false;
    const RequestState& request = half.request();
    std::uint64_t reaction_ns = request.round_trip_min_ns == 0xffffffff ? 0 : request.round_trip_min_ns;
    if (half.flow->reverse != no_flow) {
        const std::uint32_t back_ns = store_.table[half.flow->reverse].request.round_trip_min_ns;
        if (back_ns != 0xffffffff) reaction_ns += back_ns;
    }
    if (reaction_ns == 0) reaction_ns = network_disorder_ns;
    return elapsed(hole.noticed_ns, arrival.now_ns()) < reaction_ns;
}

void Sender::overtaken(const Half& half, const Arrival& arrival) {
    RequestState& request = half.request();
    ++request.reordered;
    const std::uint64_t segment = std::max<std::uint64_t>(arrival.segment.tcp().payload_length, 1);
    const std::uint64_t behind = (request.next - std::min(request.next, arrival.begin) + segment - 1) / segment;
    store_.show(*half.flow, EventKind::reordered, arrival.frame(), behind);
}

/// The same datagram for a second time: what its sender sends again has another identification, and mostly other
/// timestamps or acknowledgements.
bool Sender::is_doubled(const Half& half, const Arrival& arrival) {
    const dissect::TcpSummary& tcp = arrival.segment.tcp();
    const std::uint16_t identification = arrival.identification.value_or(0);
    if (!half.sent().prints.contain({tcp.sequence, tcp.payload_length, arrival.segment.checksum(), identification}))
        return false;
    if (identification != 0) return true;
    const RequestState& request = half.request();
    const std::uint64_t round_trip_ns =
        request.round_trip_min_ns == 0xffffffff ? network_disorder_ns : request.round_trip_min_ns;
    return elapsed(request.last_data_ns, arrival.now_ns()) < round_trip_ns;
}

/// Bytes that the receiver has, and that have not passed: stamps are from different clocks, as adapters have one for
/// each queue. They may be the next ones of their sender all the same.
void Sender::note_answered(const Half& half, std::uint64_t begin, std::uint64_t end, std::uint32_t packets,
                           std::int64_t now_ns) {
    SentData& sent = half.sent();
    Holes* const holes = holes_.obtain(sent);
    if (holes == nullptr) return;
    if (!holes->expect_acknowledged(now_ns, network_disorder_ns)) {
        sent.freed_before_ns = half.request().freed_ns;
        sent.freed_before_messages = half.request().freed_messages;
    }
    holes->note({begin, end, now_ns, {}, false, packets, true});
}

/// Bytes that were acknowledged before they passed, soon enough to be no repeat: nothing was lost or sent again. False
/// if it is something else.
bool Sender::answered_early(const Half& half, const Half& back, const Arrival& arrival) {
    FpduWalk& walk = half.direction->walk;
    SentData& sent = half.sent();
    RequestState& request = half.request();
    Holes* const holes = holes_.find(sent);
    if (holes == nullptr || sent.recovery.is_running() || half.is_recovering()) return false;
    Hole* hole = holes->find_acknowledged(arrival.begin, arrival.begin + 1);
    if (hole == nullptr || elapsed(hole->noticed_ns, arrival.now_ns()) >= network_disorder_ns) return false;
    std::int64_t packets = 0;
    for (; hole != nullptr; hole = holes->find_acknowledged(arrival.begin, arrival.end)) {
        const Holes::Filled filled = holes->fill(*hole, arrival.begin, arrival.end);
        sent.new_bytes += filled.bytes;
        packets += filled.packets;
    }
    std::uint64_t& unseen = store_.trouble(*half.flow).unseen_acknowledged;
    unseen -= std::min(unseen, static_cast<std::uint64_t>(std::max<std::int64_t>(packets, 0)));
    const bool lacks_younger = holes->find_acknowledged(arrival.end, request.next) != nullptr;
    const bool lacks_older = arrival.begin > request.last_position &&
                             holes->find_acknowledged(request.last_position, arrival.begin) != nullptr;
    if (holes->empty() && holes->find_acknowledged(0, request.next) == nullptr) holes_.drop(sent);
    if (arrival.begin < request.last_position) {
        ++sent.out_of_order;
        overtaken(half, arrival);
        return true;
    }
    // What the gap before it lacks are older ones; the younger ones may come yet.
    request.unobserved = request.unobserved && lacks_older;
    walk.find_again(arrival.begin);
    Situation situation;
    situation.mid_message = walk.inside_message(arrival.begin);
    const std::uint8_t opcode = walk.advance(arrival.begin, arrival.end, arrival.segment.payload());
    situation.response = is_response(opcode);
    situation.wants_response = wants_answer(opcode);
    // Its own acknowledgement is not why it was sent.
    const std::int64_t freed_ns = std::exchange(request.freed_ns, sent.freed_before_ns);
    const std::uint32_t freed_messages = std::exchange(request.freed_messages, sent.freed_before_messages);
    close_gap(half, back, arrival, situation);
    request.freed_ns = freed_ns;
    request.freed_messages = freed_messages;
    request.unobserved = lacks_younger;
    sent.order.learn(arrival.order(sent));
    sent.largest_segment = std::max(sent.largest_segment, arrival.segment.tcp().payload_length);
    if (arrival.end > request.next) {
        sent.new_bytes += arrival.end - request.next;
        request.next = arrival.end;
        sent.marks.sent(arrival.end, arrival.now_ns());
    }
    passed(half, arrival);
    return true;
}

/// `packets` fewer are counted as lost before the capture point; more of them if it is below zero.
void Sender::subtract_missing(RequestState& request, std::int64_t packets) {
    request.missing -= static_cast<std::uint32_t>(std::min<std::int64_t>(request.missing, packets));
}

/// True if the segment was sent again; false if the network was late with it or doubled it.
bool Sender::past_data(const Half& half, const Arrival& arrival, Situation& situation) {
    SentData& sent = half.sent();
    RequestState& request = half.request();
    Holes* const holes = holes_.find(sent);
    const SendOrder order = arrival.order(sent);
    std::int64_t hole_ns = Situation::never;
    if (Hole* hole = holes == nullptr ? nullptr : holes->find(arrival.begin, arrival.end, false); hole != nullptr) {
        if (is_late(half, *hole, arrival)) {
            const Holes::Filled filled = holes->fill(*hole, arrival.begin, arrival.end);
            subtract_missing(request, filled.packets);
            overtaken(half, arrival);
            sent.new_bytes += filled.bytes;
            return false;
        }
        hole_ns = hole->noticed_ns;
        store_.record(*half.flow, FlowHistogram::recovery_total, elapsed(hole_ns, arrival.now_ns()));
        std::int64_t repaired = 0;
        for (; hole != nullptr; hole = holes->find(arrival.begin, arrival.end, false)) {
            const Holes::Filled filled = holes->fill(*hole, arrival.begin, arrival.end);
            sent.new_bytes += filled.bytes;
            repaired += filled.packets;
        }
        // It is one of the lost ones, although more were lost than was assumed for the hole.
        if (repaired < 1) subtract_missing(request, repaired - 1);
        const auto packets = static_cast<std::uint32_t>(std::max<std::int64_t>(repaired, 1));
        holes->note({arrival.begin, arrival.end, arrival.now_ns(), order, true, packets});
    } else {
        if (is_doubled(half, arrival)) {
            ++request.duplicates;
            store_.show(*half.flow, EventKind::duplicate, arrival.frame());
            return false;
        }
        Hole* const repaired = holes == nullptr ? nullptr : holes->find(arrival.begin, arrival.end, true);
        const bool original_late = repaired != nullptr && order.compare(repaired->order) < 0;
        const bool perhaps_missing = arrival.begin < sent.holes_lost && sent.order.is_before_newest(order);
        if (original_late || perhaps_missing) {
            // It had been counted as lost before the capture point.
            std::int64_t packets = 1;
            if (repaired != nullptr)
                packets = std::max<std::int64_t>(holes->fill(*repaired, arrival.begin, arrival.end).packets, 0);
            subtract_missing(request, packets);
            overtaken(half, arrival);
            return false;
        }
    }
    count_repeat(half, arrival);
    sent.order.keep_newest(order);
    // Without a probe the gap continues, and its end decides its name.
    if (is_probe(half, arrival)) return false;
    sent_again(half, arrival, hole_ns, situation);
    return true;
}

/// What every repeat counts as, whatever it is for.
void Sender::count_repeat(const Half& half, const Arrival& arrival) {
    SentData& sent = half.sent();
    ++half.request().repeated;
    sent.retransmitted_bytes += std::min(arrival.end, half.request().next) - arrival.begin;
    half.flow->ledger.mark_again(store_.rings, arrival.begin, arrival.end);
    half.direction->responses.mark_again(store_.rings, arrival.begin, arrival.end);
    sent.marks.clear();
}

/// A tail loss probe (RFC 8985, 7.3) of a sender that the receiver's window holds back: the newest segment once more,
/// while nothing is missing. If the window had room, the segment may have been lost instead.
bool Sender::is_probe(const Half& half, const Arrival& arrival) {
    SentData& sent = half.sent();
    const ReceiverReports& received = half.received();
    const RequestState& request = half.request();
    const Holes* const holes = holes_.find(sent);
    const bool newest = arrival.end == request.next && arrival.begin >= request.last_position &&
                        arrival.end > request.acknowledged && arrival.end != sent.probe_end;
    const bool missing = sent.recovery.is_running() || half.is_recovering() || received.losses.in_duplicates() ||
                         received.losses.cover(request.acknowledged) || (holes != nullptr && !holes->empty());
    const std::uint64_t next_bytes =
        std::max<std::uint64_t>(std::min(sent.last_fpdu_bytes, sent.largest_segment), arrival.end - arrival.begin);
    if (!newest || missing || !received.window.holds_back(request.next + next_bytes)) return false;
    Receiver::watch_window(half, arrival.now_ns());
    sent.probe_end = arrival.end;
    store_.show(*half.flow, EventKind::retransmission, arrival.frame(), 0);  // 0: nothing is repaired by it
    return true;
}

/// `hole_ns`: when the hole that it fills was noticed, if it fills one.
void Sender::sent_again(const Half& half, const Arrival& arrival, std::int64_t hole_ns, Situation& situation) {
    LossRecovery& recovery = half.sent().recovery;
    LossReports& reports = half.received().losses;
    const RequestState& request = half.request();
    situation.again = true;
    const bool begins = recovery.begins(arrival.begin);
    Repair repair;
    if (begins) {
        const bool reported = reports.cover(arrival.begin) && !recovery.lost_again(arrival.begin);
        situation.cause = reported ? RepeatCause::nak : RepeatCause::timeout;
        store_.show(*half.flow, EventKind::retransmission, arrival.frame(), 1);
        if (!reported) {
            FlowTrouble& trouble = store_.trouble(*half.flow);
            ++trouble.timeouts;
            store_.show(*half.flow, EventKind::timeout, arrival.frame(),
                        elapsed(request.last_data_ns, arrival.now_ns()));
        } else if (const auto first_ns = reports.take_first_ns()) {
            repair.nak_reaction_ns = elapsed(*first_ns, arrival.now_ns());
            store_.record(*half.flow, FlowHistogram::nak_reaction, *repair.nak_reaction_ns);
        }
        recovery.begin(situation.cause);
    }
    if (begins || hole_ns != Situation::never)
        store_.observe([&](ObservedFlows& observed) { observe_repair(observed, half, arrival, hole_ns, repair); });
    recovery.repeat(arrival.begin, request.acknowledged, request.next);
}

/// For the observer: a segment that begins to repair a loss, or fills a hole. `repair` has the reaction alone.
void Sender::observe_repair(ObservedFlows& observed, const Half& half, const Arrival& arrival, std::int64_t hole_ns,
                            Repair repair) {
    ObservedFlows::Signals& signals = observed.signals(*half.flow);
    repair.cause =
        half.sent().recovery.cause() == RepeatCause::timeout ? RepairCause::timeout : RepairCause::duplicate_acks;
    repair.of_lost = true;
    if (hole_ns != Situation::never) {
        repair.first_out_of_sequence_frame = signals.hole_frame(hole_ns);
        repair.total_ns = elapsed(hole_ns, arrival.now_ns());
    }
    if (repair.nak_reaction_ns) {
        signals.put_nak(repair);
        signals.clear();
    }
    observed.observer.repaired(half.flow->id, repair, arrival.frame());
}

/// Positions of the direction mean something else from here on.
void Sender::forget_positions(const Half& half) {
    SentData& sent = half.sent();
    store_.observe([&](ObservedFlows& observed) { observed.give_up(*half.flow); });
    holes_.drop(sent);
    sent.holes_lost = sent.probe_end = 0;
    sent.marks.clear();
    sent.recovery.forget_positions();
}

/// The sequence continues far away: what was known is useless.
void Sender::jump(const Half& half, const Segment& segment) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    half.flow->ledger.clear(store_.rings, segment.now_ns());
    direction.responses.clear(store_.rings, segment.now_ns());
    forget_positions(half);
    direction.level.note(half.flow->ledger, direction.responses, segment.now_ns());
    direction.walk.lose();
    receiver_.record_write(half, Operation::write);
    direction.message = {};
    direction.message.cut = true;
    direction.sent.recovery.end_run();
    direction.received.losses.lose();
    direction.received.window.lose();
    Receiver::watch_window(half, segment.now_ns());
    request.in_message = false;
    request.message_bytes = 0;
    request.unobserved = true;
    request.next = first_position + segment.tcp().sequence + segment.tcp().payload_length;
    request.acknowledged = first_position + segment.tcp().sequence;
}

/// Keeps positions within what the ledger can hold. Only while nothing is outstanding there; a flow that never comes to
/// that loses a few latencies.
void Sender::move_back(const Half& half) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    const std::uint64_t lowest = std::min(request.acknowledged, request.next);
    const std::uint64_t by = (lowest >> 32) > 1 ? ((lowest >> 32) - 1) << 32 : 0;
    if (by == 0) return;
    half.flow->ledger.clear(store_.rings, request.last_data_ns);
    direction.message.forgotten += direction.responses.kept();
    direction.responses.clear(store_.rings, request.last_data_ns);
    forget_positions(half);
    direction.message.write_end = 0;
    request.next -= by;
    request.acknowledged -= by;
    direction.received.losses.forget_positions();
    direction.received.window.move_back(by);
    direction.walk.move_back(by);
}

void Sender::dropped(const Half& half, std::uint64_t frame, bool checksum_right) {
    // The dissector may have shown what the segment held before.
    if (half.sent().bad_frame == frame) return;
    half.sent().bad_frame = frame;
    ++half.flow->counts.crc_bad;
    store_.show(*half.flow, EventKind::crc_bad, frame);
    if (checksum_right) ++store_.trouble(*half.flow).crc_checksum_right;
}

/// The receiver has segments that the capture does not.
void Sender::unseen(const Half& half, std::uint32_t packets, std::uint64_t frame) {
    store_.trouble(*half.flow).unseen_acknowledged += packets;
    store_.show(*half.flow, EventKind::ack_unseen, frame, packets);
    half.request().unobserved = true;
}

void Sender::acknowledged_holes(const Half& half, std::uint64_t position, std::uint64_t frame, std::int64_t now_ns) {
    RequestState& request = half.request();
    Holes& holes = *holes_.find(half.sent());
    holes.acknowledge(position, [&](std::uint64_t, std::uint32_t packets, std::uint32_t settled) {
        unseen(half, packets, frame);
        subtract_missing(request, settled);
    });
    // What was acknowledged too early passes soon, or never.
    const bool expects = holes.expect_acknowledged(now_ns, network_disorder_ns);
    if (position >= request.next && holes.empty() && !expects) holes_.drop(half.sent());
}

bool Sender::acknowledged_unseen(const Half& half, const Segment& segment, std::uint32_t bytes) {
    const SentData& sent = half.sent();
    RequestState& request = half.request();
    const std::uint64_t position = request.next + bytes;
    if (!(bytes == 1 && (sent.fin_sent || sent.probed))) {
        if (dissect::tcp::verify_tcp_checksum(segment.dissection, segment.frame.bytes) == ChecksumVerdict::wrong)
            return false;
        const std::uint32_t packets = segments_of(*half.direction, 0, bytes);
        unseen(half, packets, segment.frame.number);
        note_answered(half, request.next, position, packets, segment.now_ns());
        half.direction->walk.lose();
    }
    request.next = position;
    return true;
}

}  // namespace metrics::measure::iwarp
