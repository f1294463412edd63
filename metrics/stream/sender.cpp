#include "metrics/stream/sender.h"

#include <algorithm>

#include "dissect/stream/tcp_checksum.h"
#include "wire/rdmap.h"

namespace metrics::stream {

using dissect::stream::ChecksumVerdict;
using wire::RdmapOpcode;

namespace {

/// No window is that wide (RFC 7323, 2.3): beyond it a sequence number is not of this connection.
constexpr std::int32_t furthest = 1 << 30;
/// Three of them are taken for a loss. RFC 5681, 3.2.
constexpr std::uint32_t duplicates_that_tell = 3;
/// How late a segment may be on a path whose round trip is not known yet.
constexpr std::uint64_t network_disorder_ns = 1'000'000;
/// Data from the first octet on must begin this close to the SYN, or octets passed before RDMA was known.
constexpr std::uint32_t early_octets = 65536;

bool is_response(std::uint8_t opcode) {
    const auto what = static_cast<RdmapOpcode>(opcode);
    return what == RdmapOpcode::read_response || what == RdmapOpcode::atomic_response;
}
bool wants_answer(std::uint8_t opcode) {
    const auto what = static_cast<RdmapOpcode>(opcode);
    return what == RdmapOpcode::read_request || what == RdmapOpcode::atomic_request;
}

}  // namespace

Sender::Sender(FlowStore& store)
    : store_(store),
      holes_(static_cast<std::uint32_t>(std::clamp<std::size_t>(store.options.max_flows / 16, 256, 1u << 24))) {}

/// A segment with payload, and where it lies.
struct Sender::Arrival {
    const Segment& segment;
    std::uint64_t begin;
    std::uint64_t end;
    TcpOptions options;
    std::optional<std::uint16_t> identification;

    std::int64_t now_ns() const { return segment.now_ns(); }
    std::uint64_t frame() const { return segment.frame.number; }
};

void Sender::segment(const Half& half, const Half& back, const Segment& segment) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    if (segment.has(tcp_cwr)) ++direction.cwr;
    if (segment.has(tcp_syn)) return;
    if (segment.has(tcp_rst)) {
        store_.show(*half.flow, EventKind::reset, segment.frame.number);
        direction.closed = true;
        if (back) back.direction->closed = true;
        return;
    }
    if (segment.tcp().payload_length != 0) {
        payload(half, back, segment);
    } else if (segment.has(tcp_ack)) {
        ++half.flow->counts.acknowledgements;
    }
    if (segment.has(tcp_fin) && !direction.fin_sent) {
        direction.fin_sent = true;
        store_.show(*half.flow, EventKind::disconnected, segment.frame.number);
        if (back && back.direction->fin_sent) direction.closed = back.direction->closed = true;
        const std::uint64_t end = position_of(request.next, segment.tcp().sequence + segment.tcp().payload_length) + 1;
        if (request.next != 0 && end > request.next && end - request.next <= early_octets) request.next = end;
    }
}

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

void Sender::payload(const Half& half, const Half& back, const Segment& segment) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    if (request.next == 0) begin(half, segment);
    const std::uint32_t length = segment.tcp().payload_length;
    const std::int32_t ahead = ahead_of(request.next, segment.tcp().sequence);
    const std::uint64_t begin = position_of(request.next, segment.tcp().sequence);
    const Arrival arrival{segment, begin, begin + length, segment.options(), segment.identification()};
    if (direction.checksums == ChecksumVerdict::unknown || ahead != 0) {
        if (!trusted(direction, segment)) return;
    }
    if (length <= 1 && ahead == -1) return;  // keep-alive. RFC 9293, 3.8.4
    if (length == 1 && ahead >= 0 && direction.window_edge != 0 && direction.window_edge <= begin) {
        direction.probed = true;  // window probe. RFC 9293, 3.8.6.1
        return;
    }
    if (ahead > furthest) return jump(half, segment);
    if (ahead < -furthest) return;
    Situation situation;
    if (ahead >= 0) [[likely]] {
        situation.mid_message = direction.walk.inside_message(request.next);
        const bool freed = request.freed_ns > request.last_data_ns && request.last_data_ns != Situation::never;
        if (freed) keep_least(request.reaction_min_ns, elapsed(request.freed_ns, segment.now_ns()));
        // Lost before the tap or overtaken: the sender's time is known all the same. Whether the tap lost them, the
        // acknowledgement will tell.
        if (ahead > 0) note_hole(half, arrival, request.next, begin);
        const std::uint8_t opcode = direction.walk.advance(begin, arrival.end, segment.payload());
        situation.response = is_response(opcode);
        situation.wants_response = wants_answer(opcode);
        close_gap(half, back, arrival, situation);
        new_data(half, arrival);
    } else {
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
            request.next = arrival.end;
        }
    }
    direction.prints[direction.print_next++ % direction.prints.size()] = {
        segment.tcp().sequence, length, segment.checksum(), arrival.identification.value_or(0)};
    direction.limited_in_gap_ns = 0;
    watch_window(half, segment.now_ns());
    request.last_position = begin;
    request.last_data_ns = std::max(request.last_data_ns, segment.now_ns());
    if (request.next >= highest_position) [[unlikely]]
        move_back(half);
}

void Sender::new_data(const Half& half, const Arrival& arrival) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    const std::uint32_t length = arrival.segment.tcp().payload_length;
    direction.running = false;
    learn_order(direction, arrival);
    direction.largest_segment = std::max(direction.largest_segment, length);
    request.next = arrival.end;
    // While a loss is repaired, acknowledgements wait for the repair.
    if (!direction.recovering(request)) direction.marks.sent(arrival.end, arrival.now_ns());
}

Holes* Sender::holes_of(const Direction& direction) {
    return direction.holes == Flow::no_block ? nullptr : &holes_[direction.holes];
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

SendOrder Sender::order_of(const Direction& direction, const Arrival& arrival) const {
    constexpr std::uint8_t orderly_enough = 4;
    return {arrival.options.timestamp.value_or(0), arrival.identification.value_or(0),
            arrival.options.timestamp.has_value(),
            arrival.identification.has_value() && direction.orderly >= orderly_enough};
}

/// Whether identifications go up by small steps from one new segment to the next. RFC 6864 leaves them free.
void Sender::learn_order(Direction& direction, const Arrival& arrival) const {
    constexpr std::uint16_t small_step = 64;
    constexpr std::uint8_t most = 16;
    const SendOrder now = order_of(direction, arrival);
    const auto step = static_cast<std::uint16_t>(now.identification - direction.newest.identification);
    if (step != 0 && step <= small_step)
        direction.orderly = std::min<std::uint8_t>(static_cast<std::uint8_t>(direction.orderly + 1), most);
    else
        direction.orderly = static_cast<std::uint8_t>(direction.orderly / 2);
    direction.newest = now;
}

void Sender::note_hole(const Half& half, const Arrival& arrival, std::uint64_t begin, std::uint64_t end) {
    Direction& direction = *half.direction;
    const std::uint64_t octets = end - begin;
    const auto segment =
        std::max<std::uint64_t>({direction.largest_segment, arrival.segment.tcp().payload_length, direction.mss, 1});
    half.request().missing += static_cast<std::uint32_t>((octets + segment - 1) / segment);
    ++direction.out_of_order;
    store_.show(*half.flow, EventKind::gap, arrival.frame(), octets);
    if (direction.holes == Flow::no_block) {
        direction.holes = holes_.take();
        if (direction.holes == Slab<Holes>::none) direction.holes = Flow::no_block;
    }
    Holes* const holes = holes_of(direction);
    const bool kept =
        holes != nullptr && holes->note({begin, end, arrival.now_ns(), order_of(direction, arrival), false});
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
    ++half.direction->out_of_order;
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

/// True where the segment was sent again; false where the network was late with it or doubled it.
bool Sender::past_data(const Half& half, const Arrival& arrival, Situation& situation) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    Holes* const holes = holes_of(direction);
    const SendOrder order = order_of(direction, arrival);
    if (Hole* hole = holes == nullptr ? nullptr : holes->find(arrival.begin, arrival.end, false); hole != nullptr) {
        if (late(half, *hole, arrival)) {
            if (request.missing > 0) --request.missing;
            overtaken(half, arrival);
            holes->fill(*hole, arrival.begin, arrival.end);
            return false;
        }
        store_.record(*half.flow, FlowHistogram::recovery_total, elapsed(hole->noticed_ns, arrival.now_ns()));
        for (; hole != nullptr; hole = holes->find(arrival.begin, arrival.end, false))
            holes->fill(*hole, arrival.begin, arrival.end);
        holes->note({arrival.begin, arrival.end, arrival.now_ns(), order, true});
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
            if (request.missing > 0) --request.missing;
            overtaken(half, arrival);
            if (repaired != nullptr) holes->fill(*repaired, arrival.begin, arrival.end);
            return false;
        }
    }
    sent_again(half, arrival, situation);
    if (order.compare(direction.newest) > 0) direction.newest = order;
    return true;
}

void Sender::sent_again(const Half& half, const Arrival& arrival, Situation& situation) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    ++request.repeated;
    direction.retransmitted_bytes += std::min(arrival.end, request.next) - arrival.begin;
    half.flow->ledger.mark_again(store_.rings, arrival.begin, arrival.end);
    direction.responses.mark_again(store_.rings, arrival.begin, arrival.end);
    direction.marks.clear();
    situation.again = true;
    // The receiver's word may be older than its last acknowledgement: that one the sender had not yet, perhaps.
    const bool head_lost_again =
        direction.head_again == arrival.begin && direction.evidence_ns <= direction.head_again_ns;
    const bool begins = !direction.running || arrival.begin <= direction.run_position || head_lost_again;
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
            store_.record(*half.flow, FlowHistogram::nak_reaction,
                          elapsed(direction.first_duplicate_ns, arrival.now_ns()));
            direction.first_duplicate_ns = Situation::never;
        }
        direction.cause = situation.cause;
    }
    if (arrival.begin <= request.acknowledged) {
        direction.head_again = arrival.begin;
        direction.head_again_ns = arrival.now_ns();
    }
    direction.running = true;
    direction.run_position = arrival.begin;
    direction.recover = std::max(direction.recover, request.next);
}

void Sender::close_gap(const Half& half, const Half& back, const Arrival& arrival, Situation& situation) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    const std::int64_t now_ns = arrival.now_ns();
    situation.now_ns = now_ns;
    situation.wire_bytes = arrival.segment.frame.wire_length + ethernet_overhead;
    situation.unobserved = request.unobserved;
    situation.byte_window = true;
    request.unobserved = false;
    if (back) {
        situation.inbound_ns = back.request().message_end_ns;
        const std::uint32_t round_trip_ns = back.request().round_trip_min_ns;
        if (round_trip_ns != 0xffffffff) situation.sender_round_trip_min_ns = round_trip_ns;
    }
    situation.signal_ns = direction.ece_ns;
    watch_window(half, now_ns);
    const std::uint64_t gap_ns = elapsed(request.last_data_ns, now_ns);
    situation.credit_exhausted =
        gap_ns != 0 && request.last_data_ns != Situation::never && direction.limited_in_gap_ns >= gap_ns - gap_ns / 2;
    situation.credit_freed_ns = admitted_ns(half, arrival.end, now_ns);
    // The store adds what Flow::ledger holds.
    situation.messages = direction.responses.messages();
    situation.bytes = direction.responses.bytes();
    situation.responses = direction.responses.responses();
    situation.messages_max = direction.level.messages_max;
    situation.bytes_max = direction.level.bytes_max;
    situation.responses_max = direction.responses.responses_max();
    store_.close_gap(*half.flow, situation, arrival.segment.context, arrival.frame());
}

/// The sequence goes on far away: what was known is of no use.
void Sender::jump(const Half& half, const Segment& segment) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    half.flow->ledger.clear(store_.rings, segment.now_ns());
    direction.responses.clear(store_.rings, segment.now_ns());
    direction.level.note(half.flow->ledger, direction.responses, segment.now_ns());
    drop_holes(direction);
    direction.holes_lost = 0;
    direction.marks.clear();
    direction.walk.lose();
    direction.message = {};
    direction.recover = direction.head_again = direction.run_position = 0;
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
    direction.message.forgotten += direction.responses.messages();
    direction.responses.clear(store_.rings, request.last_data_ns);
    direction.message.write_end = direction.evidence_end = 0;
    drop_holes(direction);
    direction.holes_lost = 0;
    direction.marks.clear();
    direction.recover = direction.head_again = direction.run_position = 0;
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

void Sender::complete(const Half& half, std::uint64_t position, std::int64_t now_ns, bool measure) {
    Flow& flow = *half.flow;
    Direction& direction = *half.direction;
    MessageState& message = direction.message;
    if (message.write_end != 0 && message.write_end <= position) {
        flow.ledger.end(store_.rings, message.write_ns, Operation::write, message.write_end, message.write_bytes);
        message.write_end = 0;
    }
    const unsigned done =
        flow.ledger.acknowledge(store_.rings, now_ns, position, [&](const OutstandingMessage& outstanding) {
            if (outstanding.again || outstanding.merged || !measure) return;
            const auto operation = static_cast<Operation>(static_cast<unsigned>(outstanding.operation));
            store_.record(flow, latency_of(operation), elapsed(outstanding.last_ns, now_ns));
        });
    half.request().freed_messages = done;
    if (done == 0) return;
    flow.attribution.freed(now_ns);
    direction.level.note(flow.ledger, direction.responses, now_ns);
}

void Sender::take_round_trip(const Half& half, std::uint64_t position, std::int64_t now_ns) {
    const auto round_trip_ns = half.direction->marks.acknowledged(position, now_ns);
    if (!round_trip_ns) return;
    store_.record(*half.flow, FlowHistogram::round_trip, *round_trip_ns);
    keep_least(half.request().round_trip_min_ns, *round_trip_ns);
}

/// The receiver has octets that the capture does not. Returns how many segments they will have been.
std::uint32_t Sender::unseen(const Half& half, std::uint64_t octets, std::uint64_t frame) {
    const auto segment = std::max<std::uint64_t>({half.direction->largest_segment, half.direction->mss, 1});
    const auto packets = static_cast<std::uint32_t>((octets + segment - 1) / segment);
    store_.trouble(*half.flow).unseen_acknowledged += packets;
    store_.show(*half.flow, EventKind::ack_unseen, frame, packets);
    half.request().unobserved = true;
    return packets;
}

/// The receiver has said that octets before `end` are missing.
void Sender::believe(Direction& direction, std::uint64_t end, std::int64_t now_ns) {
    direction.evidence_end = std::max(direction.evidence_end, end);
    direction.evidence_ns = now_ns;
}

/// Holes that are acknowledged were not lost before the tap, but by it.
void Sender::lost_holes(const Half& half, std::uint64_t position, std::uint64_t frame) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    Holes& holes = holes_[direction.holes];
    holes.acknowledge(position, [&](std::uint64_t octets) {
        request.missing -= std::min(request.missing, unseen(half, octets, frame));
    });
    if (position >= request.next && holes.empty()) drop_holes(direction);
}

void Sender::acknowledged(const Half& half, const Segment& segment) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    const std::int64_t now_ns = segment.now_ns();
    if (!segment.has(tcp_ack) || segment.has(tcp_rst) || segment.has(tcp_syn)) return;
    if (segment.has(tcp_ece)) {
        ++direction.ece_acks;
        direction.ece_ns = now_ns;
    }
    if (request.next == 0) return;
    const std::int32_t ahead = ahead_of(request.next, segment.tcp().acknowledgment);
    const std::uint64_t position = position_of(request.next, segment.tcp().acknowledgment);
    if (ahead > furthest || ahead < -furthest) return;
    if (ahead > 0 && !(ahead == 1 && (direction.fin_sent || direction.probed))) {
        if (dissect::stream::verify_tcp_checksum(segment.dissection, segment.frame.bytes) == ChecksumVerdict::wrong)
            return;
        unseen(half, static_cast<std::uint64_t>(ahead), segment.frame.number);
        request.next = position;
        direction.walk.lose();
    }
    request.next = std::max(request.next, position);
    const TcpOptions options = segment.options();
    direction.sack_blocks += options.sack_blocks;
    if (position > request.acknowledged) {
        if (direction.holes != Flow::no_block) lost_holes(half, position, segment.frame.number);
        request.acknowledged = position;
        request.freed_ns = now_ns;
        request.freed_messages = 0;
        take_round_trip(half, position, now_ns);
        complete(half, position, now_ns, true);
        direction.duplicate_run = 0;
        direction.first_duplicate_ns = Situation::never;
        // A partial acknowledgement tells of the next loss. RFC 6582, 3.2.
        if (direction.recovering(request) && direction.cause == RepeatCause::nak)
            believe(direction, direction.recover, now_ns);
    } else if (position == request.acknowledged && segment.tcp().payload_length == 0 && !segment.has(tcp_fin) &&
               request.next > request.acknowledged && segment.tcp().window == direction.window) {
        // RFC 5681, 2.
        ++direction.duplicate_acks;
        ++direction.duplicate_run;
        if (direction.duplicate_run == 1) {
            direction.first_duplicate_ns = now_ns;
            Holes* const holes = holes_of(direction);
            const Hole* hole = holes == nullptr ? nullptr : holes->find(position, position + 1, false);
            if (hole != nullptr)
                store_.record(*half.flow, FlowHistogram::nak_generation, elapsed(hole->noticed_ns, now_ns));
        }
        if (direction.duplicate_run >= duplicates_that_tell) believe(direction, request.next, now_ns);
    }
    if (options.sack_above && position == request.acknowledged) {
        believe(direction, std::min(position_of(request.next, options.sack_top), request.next), now_ns);
        if (direction.first_duplicate_ns == Situation::never) direction.first_duplicate_ns = now_ns;
    }
    if (position == request.acknowledged) receive_window(half, segment, position);
}

void Sender::receive_window(const Half& half, const Segment& segment, std::uint64_t position) {
    Direction& direction = *half.direction;
    const std::uint32_t raw = segment.tcp().window;
    direction.window = raw;
    if (raw == 0) {
        ++direction.zero_windows;
        store_.show(*half.flow, EventKind::zero_window, segment.frame.number);
    }
    if (direction.window_scale == 0xff) {
        direction.window_edge = raw == 0 ? position : 0;
    } else {
        const std::uint32_t octets = raw << direction.window_scale;
        direction.window_min = std::min(direction.window_min, octets);
        direction.window_max = std::max(direction.window_max, octets);
        direction.window_edge = position + octets;
    }
    note_reach(half, segment.now_ns());
    watch_window(half, segment.now_ns());
}

/// Least time tap -> sender -> tap, as far as the other direction tells; 0 = unknown.
std::uint64_t Sender::way_to_sender_ns(const Half& half) const {
    if (half.flow->reverse == no_flow) return 0;
    const std::uint32_t round_trip_ns = store_.table[half.flow->reverse].request.round_trip_min_ns;
    return round_trip_ns == 0xffffffff ? 0 : round_trip_ns;
}

/// Segments are admitted by what passed the tap a round trip to the sender ago: so much is kept, an eighth at a time.
void Sender::note_reach(const Half& half, std::int64_t now_ns) {
    auto& reaches = half.direction->reaches;
    const std::uint64_t edge = half.direction->window_edge;
    if (edge <= reaches[0].edge) return;
    if (reaches[0].edge == 0 || elapsed(reaches[0].since_ns, now_ns) >= way_to_sender_ns(half) / 8) {
        std::copy_backward(reaches.begin(), reaches.end() - 1, reaches.end());
        reaches[0].since_ns = now_ns;
    }
    reaches[0].edge = edge;
}

/// When the receiver's window first held a segment up to `end`, where it was too small before and the segment may have
/// been sent because of that.
std::int64_t Sender::admitted_ns(const Half& half, std::uint64_t end, std::int64_t now_ns) const {
    const auto& reaches = half.direction->reaches;
    for (std::size_t i = 0; i + 1 < reaches.size() && reaches[i].edge >= end; ++i) {
        if (reaches[i + 1].edge == 0) break;
        if (reaches[i + 1].edge >= end) continue;
        const std::int64_t last_ns = half.request().last_data_ns;
        const std::uint64_t reaction_ns = way_to_sender_ns(half);
        if (reaches[i].since_ns >= last_ns) return reaches[i].since_ns;
        // It was on its way to the sender when the segment before this one passed.
        return elapsed(reaches[i].since_ns, now_ns) <= reaction_ns + reaction_ns / 4 ? last_ns : Situation::never;
    }
    return Situation::never;
}

/// Adds up the time in which the next FPDU would not have fitted into the receiver's window.
void Sender::watch_window(const Half& half, std::int64_t now_ns) {
    Direction& direction = *half.direction;
    if (direction.limited_since_ns != Situation::never) {
        const std::uint64_t limited_ns = elapsed(direction.limited_since_ns, now_ns);
        direction.limited_ns += limited_ns;
        direction.limited_in_gap_ns += limited_ns;
    }
    const std::uint64_t segment = std::max<std::uint32_t>(direction.largest_segment, 1);
    const std::uint64_t wanted = std::clamp<std::uint64_t>(direction.last_unit_octets, 1, segment);
    const bool limited = direction.window_edge != 0 && direction.window_edge < half.request().next + wanted;
    direction.limited_since_ns = limited ? now_ns : Situation::never;
}

}  // namespace metrics::stream
