#include "metrics/stream/sender.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "dissect/stream/tcp_checksum.h"
#include "metrics/stream/sender_usual.h"

namespace metrics::stream {

using dissect::stream::ChecksumVerdict;

namespace {

/// Three of them are taken for a loss. RFC 5681, 3.2.
constexpr std::uint32_t duplicates_that_tell = 3;
/// How late a segment may be on a path whose round trip is not known yet, or behind its acknowledgement.
constexpr std::uint64_t network_disorder_ns = 1'000'000;
/// Data from the first octet on must begin this close to the SYN, or octets passed before RDMA was known.
constexpr std::uint32_t early_octets = 65536;

}  // namespace

Sender::Sender(FlowStore& store)
    : store_(store),
      holes_(static_cast<std::uint32_t>(std::clamp<std::size_t>(store.options.max_flows / 16, 256, 1u << 24))) {}

/// Whether the receiver has taken the segment, as far as its checksum tells; learns whether the sender's are real in
/// this capture (one taken at the sender sees them before the adapter fills them in).
bool Sender::trusted(Direction& direction, const Segment& segment) const {
    constexpr std::uint8_t wrong_that_decide = 3;
    if (direction.checksums == ChecksumVerdict::wrong) return true;
    const ChecksumVerdict verdict = dissect::stream::verify_tcp_checksum(segment.dissection, segment.frame.bytes);
    if (direction.checksums == ChecksumVerdict::right) return verdict != ChecksumVerdict::wrong;
    if (verdict == ChecksumVerdict::right) direction.checksums = verdict;
    if (verdict == ChecksumVerdict::wrong && ++direction.wrong_checksums == wrong_that_decide)
        direction.checksums = verdict;
    return true;
}

/// The first octets seen of a direction.
void Sender::begin(const Half& half, const Segment& segment) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    std::uint32_t sequence = segment.tcp().sequence;
    const std::uint32_t first = direction.initial_sequence + 1;
    if (direction.sequence_known && sequence - first < early_octets) sequence = first;
    request.next = request.acknowledged = first_position + sequence;
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
    direction.fin_sent = true;
    store_.show(*half.flow, EventKind::disconnected, segment.frame.number);
    if (back && back.direction->fin_sent) direction.closed = back.direction->closed = true;
    const std::uint64_t end = position_of(request.next, segment.tcp().sequence + segment.tcp().payload_length) + 1;
    if (request.next != 0 && end > request.next && end - request.next <= early_octets) request.next = end;
}

void Sender::any_payload(const Half& half, const Half& back, const Segment& segment) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    if (request.next == 0) begin(half, segment);
    const std::uint32_t length = segment.tcp().payload_length;
    const std::int32_t ahead = ahead_of(request.next, segment.tcp().sequence);
    const std::uint64_t begin = position_of(request.next, segment.tcp().sequence);
    const Arrival arrival{segment, begin, begin + length, segment.timestamp(), segment.identification()};
    if (direction.checksums == ChecksumVerdict::unknown || ahead != 0) {
        if (!trusted(direction, segment)) return;
    }
    if (length <= 1 && ahead == -1) return;  // keep-alive. RFC 9293, 3.8.4
    if (length == 1 && ahead >= 0 && direction.window_edge != 0 && direction.window_edge <= begin) {
        direction.probed = true;  // window probe. RFC 9293, 3.8.6.1
        return;
    }
    if (direction.elsewhere.takes(segment.tcp().sequence, segment.tcp().sequence + length,
                                  static_cast<std::uint32_t>(request.next),
                                  static_cast<std::uint32_t>(request.acknowledged)))
        return jump(half, segment);
    if (ahead > largest_window || ahead < -largest_window) return;
    if (ahead >= 0) {
        // Lost before the tap or overtaken: the sender's time is known all the same. Whether the tap lost them, the
        // acknowledgement will tell.
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
            const wire::Bytes bytes = segment.payload();
            direction.walk.advance(request.next, arrival.end,
                                   bytes.subspan(std::min<std::size_t>(known, bytes.size())));
            direction.new_octets += arrival.end - request.next;
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

Holes* Sender::holes_of(const Direction& direction) {
    return direction.holes == Flow::no_block ? nullptr : &holes_[direction.holes];
}

/// nullptr where there are too many already.
Holes* Sender::take_holes(Direction& direction) {
    if (direction.holes == Flow::no_block) {
        direction.holes = holes_.take();
        if (direction.holes == Slab<Holes>::none) direction.holes = Flow::no_block;
    }
    return holes_of(direction);
}

void Sender::drop_holes(Direction& direction) {
    if (direction.holes == Flow::no_block) return;
    holes_.give_back(direction.holes);
    direction.holes = Flow::no_block;
}

void Sender::forget(Direction& direction) {
    drop_holes(direction);
    direction.responses.clear(store_.rings, direction.level.changed_ns);
}

/// How many segments so many octets will have been, as the sender makes them: not every one fills the MSS. Of the start
/// frame alone nothing is known of that.
std::uint32_t Sender::segments_of(const Direction& direction, std::uint32_t length, std::uint64_t octets) {
    std::uint64_t segment = std::max<std::uint64_t>({direction.largest_segment, length, 1});
    if (direction.last_unit_octets == 0) segment = std::max<std::uint64_t>(segment, direction.mss);
    return static_cast<std::uint32_t>((octets + segment - 1) / segment);
}

void Sender::note_hole(const Half& half, const Arrival& arrival, std::uint64_t begin, std::uint64_t end) {
    Direction& direction = *half.direction;
    const std::uint64_t octets = end - begin;
    const std::uint32_t packets = segments_of(direction, arrival.segment.tcp().payload_length, octets);
    half.request().missing += packets;
    ++direction.out_of_order;
    store_.show(*half.flow, EventKind::gap, arrival.frame(), octets);
    Holes* const holes = take_holes(direction);
    if (store_.watch != nullptr) store_.watch->signals(*half.flow).note_hole(arrival.now_ns(), arrival.frame());
    const bool kept =
        holes != nullptr && holes->note({begin, end, arrival.now_ns(), order_of(direction, arrival), false, packets});
    if (!kept) direction.holes_lost = arrival.end;
}

/// Octets that fill a hole were overtaken, or sent again because they were lost before the tap. Where the segments do
/// not tell in which order they were made: the latter takes a word from the receiver, and its way through the tap.
bool Sender::late(const Half& half, const Hole& hole, const Arrival& arrival) const {
    const Direction& direction = *half.direction;
    const int order = order_of(direction, arrival).compare(hole.order);
    if (order != 0) return order < 0;
    if (direction.duplicate_run >= duplicates_that_tell) return false;
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
bool Sender::doubled(const Half& half, const Arrival& arrival) const {
    const Direction& direction = *half.direction;
    const dissect::TcpSummary& tcp = arrival.segment.tcp();
    const std::uint16_t checksum = arrival.segment.checksum();
    const std::uint16_t identification = arrival.identification.value_or(0);
    for (const SegmentPrint& print : direction.prints) {
        if (print.length != tcp.payload_length || print.sequence != tcp.sequence) continue;
        if (print.checksum != checksum || print.identification != identification) continue;
        if (identification != 0) return true;
        const RequestState& request = half.request();
        const std::uint64_t round_trip_ns =
            request.round_trip_min_ns == 0xffffffff ? network_disorder_ns : request.round_trip_min_ns;
        return elapsed(request.last_data_ns, arrival.now_ns()) < round_trip_ns;
    }
    return false;
}

/// Octets that the receiver has, and that have not passed: stamps are from different clocks, as adapters have one for
/// each queue. They may be the next ones of their sender's all the same.
void Sender::note_answered(const Half& half, std::uint64_t begin, std::uint64_t end, std::uint32_t packets,
                           std::int64_t now_ns) {
    Holes* const holes = take_holes(*half.direction);
    if (holes == nullptr) return;
    if (!holes->expect_acknowledged(now_ns, network_disorder_ns)) {
        half.direction->freed_before_ns = half.request().freed_ns;
        half.direction->freed_before_messages = half.request().freed_messages;
    }
    holes->note({begin, end, now_ns, {}, false, packets, true});
}

/// Such octets, soon enough to be no repeat: nothing was lost, nor sent again. False where it is something else.
bool Sender::answered_early(const Half& half, const Half& back, const Arrival& arrival) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    Holes* const holes = holes_of(direction);
    if (holes == nullptr || direction.running || direction.recovering(request)) return false;
    Hole* hole = holes->find_acknowledged(arrival.begin, arrival.begin + 1);
    if (hole == nullptr || elapsed(hole->noticed_ns, arrival.now_ns()) >= network_disorder_ns) return false;
    std::int64_t packets = 0;
    for (; hole != nullptr; hole = holes->find_acknowledged(arrival.begin, arrival.end)) {
        const Holes::Filled filled = holes->fill(*hole, arrival.begin, arrival.end);
        direction.new_octets += filled.octets;
        packets += filled.packets;
    }
    std::uint64_t& unseen = store_.trouble(*half.flow).unseen_acknowledged;
    unseen -= std::min(unseen, static_cast<std::uint64_t>(std::max<std::int64_t>(packets, 0)));
    const bool lacks_younger = holes->find_acknowledged(arrival.end, request.next) != nullptr;
    const bool lacks_older = arrival.begin > request.last_position &&
                             holes->find_acknowledged(request.last_position, arrival.begin) != nullptr;
    if (holes->empty() && holes->find_acknowledged(0, request.next) == nullptr) drop_holes(direction);
    if (arrival.begin < request.last_position) {
        ++direction.out_of_order;
        overtaken(half, arrival);
        return true;
    }
    // What the gap before it lacks are older ones; the younger ones may come yet.
    request.unobserved = request.unobserved && lacks_older;
    direction.walk.find_again(arrival.begin);
    Situation situation;
    situation.mid_message = direction.walk.inside_message(arrival.begin);
    const std::uint8_t opcode = direction.walk.advance(arrival.begin, arrival.end, arrival.segment.payload());
    situation.response = is_response(opcode);
    situation.wants_response = wants_answer(opcode);
    // Its own acknowledgement has not let it go.
    const std::int64_t freed_ns = std::exchange(request.freed_ns, direction.freed_before_ns);
    const std::uint32_t freed_messages = std::exchange(request.freed_messages, direction.freed_before_messages);
    close_gap(half, back, arrival, situation);
    request.freed_ns = freed_ns;
    request.freed_messages = freed_messages;
    request.unobserved = lacks_younger;
    learn_order(direction, order_of(direction, arrival));
    direction.largest_segment = std::max(direction.largest_segment, arrival.segment.tcp().payload_length);
    if (arrival.end > request.next) {
        direction.new_octets += arrival.end - request.next;
        request.next = arrival.end;
        direction.marks.sent(arrival.end, arrival.now_ns());
    }
    passed(half, arrival);
    return true;
}

/// So many fewer are counted as lost before the tap; more of them where it is below zero.
void Sender::not_missing(RequestState& request, std::int64_t packets) {
    request.missing -= static_cast<std::uint32_t>(std::min<std::int64_t>(request.missing, packets));
}

/// True where the segment was sent again; false where the network was late with it or doubled it.
bool Sender::past_data(const Half& half, const Arrival& arrival, Situation& situation) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    Holes* const holes = holes_of(direction);
    const SendOrder order = order_of(direction, arrival);
    std::int64_t hole_ns = Situation::never;
    if (Hole* hole = holes == nullptr ? nullptr : holes->find(arrival.begin, arrival.end, false); hole != nullptr) {
        if (late(half, *hole, arrival)) {
            const Holes::Filled filled = holes->fill(*hole, arrival.begin, arrival.end);
            not_missing(request, filled.packets);
            overtaken(half, arrival);
            direction.new_octets += filled.octets;
            return false;
        }
        hole_ns = hole->noticed_ns;
        store_.record(*half.flow, FlowHistogram::recovery_total, elapsed(hole_ns, arrival.now_ns()));
        std::int64_t repaired = 0;
        for (; hole != nullptr; hole = holes->find(arrival.begin, arrival.end, false)) {
            const Holes::Filled filled = holes->fill(*hole, arrival.begin, arrival.end);
            direction.new_octets += filled.octets;
            repaired += filled.packets;
        }
        // It is one of those that were lost, though more of them were than the hole was taken for.
        if (repaired < 1) not_missing(request, repaired - 1);
        const auto packets = static_cast<std::uint32_t>(std::max<std::int64_t>(repaired, 1));
        holes->note({arrival.begin, arrival.end, arrival.now_ns(), order, true, packets});
    } else {
        if (doubled(half, arrival)) {
            ++request.duplicates;
            store_.show(*half.flow, EventKind::duplicate, arrival.frame());
            return false;
        }
        Hole* const repaired = holes == nullptr ? nullptr : holes->find(arrival.begin, arrival.end, true);
        const bool original_late = repaired != nullptr && order.compare(repaired->order) < 0;
        const bool perhaps_missing = arrival.begin < direction.holes_lost && order.compare(direction.newest) < 0;
        if (original_late || perhaps_missing) {
            // What had been taken for lost before the tap.
            std::int64_t packets = 1;
            if (repaired != nullptr)
                packets = std::max<std::int64_t>(holes->fill(*repaired, arrival.begin, arrival.end).packets, 0);
            not_missing(request, packets);
            overtaken(half, arrival);
            return false;
        }
    }
    repeats(half, arrival);
    if (order.compare(direction.newest) > 0) direction.newest = order;
    // Without it the gap goes on, and is named by what ends it.
    if (probes(half, arrival)) return false;
    sent_again(half, arrival, hole_ns, situation);
    return true;
}

/// What every repeat counts as, whatever it is for.
void Sender::repeats(const Half& half, const Arrival& arrival) {
    Direction& direction = *half.direction;
    ++half.request().repeated;
    direction.retransmitted_bytes += std::min(arrival.end, half.request().next) - arrival.begin;
    half.flow->ledger.mark_again(store_.rings, arrival.begin, arrival.end);
    direction.responses.mark_again(store_.rings, arrival.begin, arrival.end);
    direction.marks.clear();
}

/// A tail loss probe (RFC 8985, 7.3) of a sender that the receiver's window holds back: the newest segment once more,
/// nothing being missing. Where the window had room the segment may as well be lost.
bool Sender::probes(const Half& half, const Arrival& arrival) {
    Direction& direction = *half.direction;
    const RequestState& request = half.request();
    const Holes* const holes = holes_of(direction);
    const bool newest = arrival.end == request.next && arrival.begin >= request.last_position &&
                        arrival.end > request.acknowledged && arrival.end != direction.probe_end;
    const bool missing = direction.running || direction.recovering(request) || direction.duplicate_run != 0 ||
                         direction.evidence_end > request.acknowledged || (holes != nullptr && !holes->empty());
    const std::uint64_t wanted = std::max<std::uint64_t>(
        std::min(direction.last_unit_octets, direction.largest_segment), arrival.end - arrival.begin);
    const bool held = direction.window_edge != 0 && direction.window_edge < request.next + wanted;
    if (!newest || missing || !held) return false;
    watch_window(half, arrival.now_ns());
    direction.probe_end = arrival.end;
    store_.show(*half.flow, EventKind::retransmission, arrival.frame(), 0);  // 0: nothing is repaired by it
    return true;
}

/// `hole_ns`: when the hole that it fills was noticed, where it fills one.
void Sender::sent_again(const Half& half, const Arrival& arrival, std::int64_t hole_ns, Situation& situation) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    situation.again = true;
    // Further duplicates from the flight that it was lost of tell nothing of its repeat. RFC 6582, 3.2; RFC 8985, 6.2.
    const bool head_lost_again = direction.head_again == arrival.begin && !direction.head_overtaken;
    const bool begins = !direction.running || arrival.begin <= direction.run_position || head_lost_again;
    Repair repair;
    if (begins) {
        const bool told = arrival.begin < direction.evidence_end && !head_lost_again;
        situation.cause = told ? RepeatCause::nak : RepeatCause::timeout;
        store_.show(*half.flow, EventKind::retransmission, arrival.frame(), 1);
        if (!told) {
            FlowTrouble& trouble = store_.trouble(*half.flow);
            ++trouble.timeouts;
            store_.show(*half.flow, EventKind::timeout, arrival.frame(),
                        elapsed(request.last_data_ns, arrival.now_ns()));
        } else if (direction.first_duplicate_ns != Situation::never) {
            repair.nak_reaction_ns = elapsed(direction.first_duplicate_ns, arrival.now_ns());
            store_.record(*half.flow, FlowHistogram::nak_reaction, *repair.nak_reaction_ns);
            direction.first_duplicate_ns = Situation::never;
        }
        direction.cause = situation.cause;
    }
    if (store_.watch != nullptr && (begins || hole_ns != Situation::never))
        watch_repair(half, arrival, hole_ns, repair);
    if (arrival.begin <= request.acknowledged) {
        direction.head_again = arrival.begin;
        direction.head_again_next = request.next;
        direction.head_overtaken = false;
    }
    direction.running = true;
    direction.run_position = arrival.begin;
    direction.recover = std::max(direction.recover, request.next);
}

/// For the witness: a segment that begins to repair a loss, or fills a hole. `repair` has the reaction alone.
void Sender::watch_repair(const Half& half, const Arrival& arrival, std::int64_t hole_ns, Repair repair) {
    Watch::Signals& signals = store_.watch->signals(*half.flow);
    repair.cause = half.direction->cause == RepeatCause::timeout ? RepairCause::timeout : RepairCause::duplicate_acks;
    repair.of_lost = true;
    if (hole_ns != Situation::never) {
        repair.first_out_of_sequence_frame = signals.hole_frame(hole_ns);
        repair.total_ns = elapsed(hole_ns, arrival.now_ns());
    }
    if (repair.nak_reaction_ns) {
        signals.put_nak(repair);
        signals.heeded();
    }
    store_.watch->witness.repaired(half.flow->id, repair, arrival.frame());
}

/// The sequence goes on far away: what was known is of no use.
void Sender::jump(const Half& half, const Segment& segment) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    half.flow->ledger.clear(store_.rings, segment.now_ns());
    direction.responses.clear(store_.rings, segment.now_ns());
    if (store_.watch != nullptr) store_.watch->give_up(*half.flow);
    direction.level.note(half.flow->ledger, direction.responses, segment.now_ns());
    drop_holes(direction);
    direction.holes_lost = 0;
    direction.marks.clear();
    direction.walk.lose();
    record_write(half, Operation::write);
    direction.message = {};
    direction.message.cut = true;
    direction.recover = direction.head_again = direction.run_position = direction.probe_end = 0;
    direction.running = false;
    direction.evidence_end = 0;
    direction.duplicate_run = 0;
    direction.window_edge = 0;
    direction.reaches = {};
    watch_window(half, segment.now_ns());
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
    if (store_.watch != nullptr) store_.watch->give_up(*half.flow);
    direction.message.write_end = direction.evidence_end = 0;
    drop_holes(direction);
    direction.holes_lost = 0;
    direction.marks.clear();
    direction.recover = direction.head_again = direction.run_position = direction.probe_end = 0;
    request.next -= by;
    request.acknowledged -= by;
    direction.reaches = {};
    direction.window_edge = direction.window_edge > by ? direction.window_edge - by : 0;
    direction.walk.move_back(by);
}

void Sender::dropped(const Half& half, std::uint64_t frame) {
    // The dissector may have shown what the segment held before.
    if (half.direction->bad_frame == frame) return;
    half.direction->bad_frame = frame;
    ++half.flow->counts.crc_bad;
    store_.show(*half.flow, EventKind::crc_bad, frame);
}

// ---- what the receiver says ----

/// The receiver has segments that the capture does not.
void Sender::unseen(const Half& half, std::uint32_t packets, std::uint64_t frame) {
    store_.trouble(*half.flow).unseen_acknowledged += packets;
    store_.show(*half.flow, EventKind::ack_unseen, frame, packets);
    half.request().unobserved = true;
}

/// The receiver has said that octets before `end` are missing.
void Sender::believe(Direction& direction, std::uint64_t end) {
    direction.evidence_end = std::max(direction.evidence_end, end);
}

/// Holes that are acknowledged were not lost before the tap, but by it.
void Sender::lost_holes(const Half& half, std::uint64_t position, std::uint64_t frame, std::int64_t now_ns) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    Holes& holes = holes_[direction.holes];
    holes.acknowledge(position, [&](std::uint64_t, std::uint32_t packets, std::uint32_t settled) {
        unseen(half, packets, frame);
        not_missing(request, settled);
    });
    // What was acknowledged too early passes soon, or never.
    const bool expects = holes.expect_acknowledged(now_ns, network_disorder_ns);
    if (position >= request.next && holes.empty() && !expects) drop_holes(direction);
}

/// Acknowledges octets that have not been seen. False where the segment is not to be believed.
bool Sender::beyond_sent(const Half& half, const Segment& segment, std::int32_t ahead) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    const std::uint64_t position = request.next + static_cast<std::uint32_t>(ahead);
    if (!(ahead == 1 && (direction.fin_sent || direction.probed))) {
        if (dissect::stream::verify_tcp_checksum(segment.dissection, segment.frame.bytes) == ChecksumVerdict::wrong)
            return false;
        const std::uint32_t packets = segments_of(direction, 0, static_cast<std::uint32_t>(ahead));
        unseen(half, packets, segment.frame.number);
        note_answered(half, request.next, position, packets, segment.now_ns());
        direction.walk.lose();
    }
    request.next = position;
    return true;
}

/// Acknowledges what is acknowledged, without data: perhaps a duplicate acknowledgement. RFC 5681, 2.
void Sender::repeated(const Half& half, const Segment& segment, std::uint64_t position) {
    Direction& direction = *half.direction;
    const RequestState& request = half.request();
    const std::int64_t now_ns = segment.now_ns();
    if (segment.has(tcp_fin) || request.next <= request.acknowledged || segment.tcp().window != direction.window)
        return;
    ++direction.duplicate_acks;
    ++direction.duplicate_run;
    if (direction.duplicate_run == 1) {
        direction.first_duplicate_ns = now_ns;
        Holes* const holes = holes_of(direction);
        const Hole* hole = holes == nullptr ? nullptr : holes->find(position, position + 1, false);
        std::optional<std::uint64_t> generation_ns;
        if (hole != nullptr) {
            generation_ns = elapsed(hole->noticed_ns, now_ns);
            store_.record(*half.flow, FlowHistogram::nak_generation, *generation_ns);
        }
        if (store_.watch != nullptr) store_.watch->signals(*half.flow).note_nak(segment.frame.number, 0, generation_ns);
    }
    if (direction.duplicate_run >= duplicates_that_tell) believe(direction, request.next);
}

/// What SACK says. RFC 2018.
void Sender::selective(const Half& half, const Segment& segment, std::uint64_t position) {
    Direction& direction = *half.direction;
    const RequestState& request = half.request();
    const TcpOptions options = segment.options();
    direction.sack_blocks += options.sack_blocks;
    if (!options.sack_above || position != request.acknowledged) return;
    const std::uint64_t top = std::min(position_of(request.next, options.sack_top), request.next);
    believe(direction, top);
    // The newest block comes first: it may hold what was sent again after the head.
    const bool again = direction.run_position > direction.head_again &&
                       position_of(request.next, options.sack_newest_left) <= direction.run_position &&
                       position_of(request.next, options.sack_newest_right) > direction.run_position;
    if (again || top > direction.head_again_next) direction.head_overtaken = true;
    if (direction.first_duplicate_ns != Situation::never) return;
    direction.first_duplicate_ns = segment.now_ns();
    if (store_.watch != nullptr) store_.watch->signals(*half.flow).note_nak(segment.frame.number, 0, {});
}

}  // namespace metrics::stream
