#pragma once
#include <algorithm>
#include <utility>

#include "dissect/stream/sequence.h"
#include "metrics/stream/sender.h"
#include "wire/rdmap.h"

/// What nearly every segment goes through of Sender, for the compiler to see as a whole. What is rare is in sender.cpp.
namespace metrics::stream {

using dissect::stream::largest_window;

inline bool is_response(std::uint8_t opcode) {
    const auto what = static_cast<wire::RdmapOpcode>(opcode);
    return what == wire::RdmapOpcode::read_response || what == wire::RdmapOpcode::atomic_response;
}
inline bool wants_answer(std::uint8_t opcode) {
    const auto what = static_cast<wire::RdmapOpcode>(opcode);
    return what == wire::RdmapOpcode::read_request || what == wire::RdmapOpcode::atomic_request;
}

inline void Sender::segment(const Half& half, const Half& back, const Segment& segment) {
    if (segment.has(tcp_cwr)) ++half.direction->cwr;
    if (segment.has(tcp_syn)) return;
    if (segment.has(tcp_rst)) return reset(half, back, segment);
    if (segment.tcp().payload_length != 0) {
        payload(half, back, segment);
    } else if (segment.has(tcp_ack)) {
        half.flow->count_acknowledgement();
    }
    if (segment.has(tcp_fin) && !half.direction->fin_sent) finish(half, back, segment);
}

/// No FPDU has to wait for the window, nor did any since it was looked at last, nor would the longest one that begins
/// at `next` or before.
inline bool Sender::has_room(const Direction& direction, std::uint64_t next, std::uint32_t largest_segment) {
    const std::uint64_t edge = direction.window_edge;
    return (edge == 0 || edge > next + largest_segment) && direction.limited_since_ns == Situation::never;
}

/// What is decided by looking comes first; from where something changes there is no way back.
[[gnu::always_inline]] inline bool Sender::common(const Half& half, const Half& back, const Segment& segment) {
    constexpr std::uint8_t told_apart = tcp_fin | tcp_syn | tcp_rst | tcp_ack | tcp_ece | tcp_cwr;
    const dissect::TcpSummary& tcp = segment.tcp();
    Segment::Plain plain;
    if (!back || (tcp.flags & told_apart) != tcp_ack || !segment.read_plain(plain) || !store_.options.shortcut)
        return false;

    // What it says of the other direction is known.
    const Direction& opposite = *back.direction;
    const RequestState& answered = back.request();
    if (answered.next == 0 || answered.next - answered.acknowledged > largest_window ||
        tcp.acknowledgment != static_cast<std::uint32_t>(answered.acknowledged) ||
        !keeps_window(back, segment, answered.acknowledged) ||
        !has_room(opposite, answered.next, opposite.largest_segment))
        return false;

    Direction& direction = *half.direction;
    RequestState& request = half.request();
    const std::uint64_t begin = request.next;
    const std::uint64_t end = begin + tcp.payload_length;
    const std::uint32_t largest = std::max(direction.largest_segment, tcp.payload_length);
    FpduHead head;
    if (begin == 0 || tcp.sequence != static_cast<std::uint32_t>(begin) || end >= highest_position ||
        direction.checksums == dissect::stream::ChecksumVerdict::unknown || !has_room(direction, end, largest) ||
        direction.limited_in_gap_ns != 0 || !direction.walk.is_next(begin, end, segment.payload(), head) ||
        is_response(head.opcode) || wants_answer(head.opcode))
        return false;

    const std::int64_t now_ns = segment.now_ns();
    const bool freed = request.freed_ns > request.last_data_ns && request.last_data_ns != Situation::never;
    if (freed) keep_least(request.reaction_min_ns, elapsed(request.freed_ns, now_ns));
    const bool mid_message = direction.walk.inside_message(begin);
    if (!closed_at_once(half, back, segment, mid_message, admitted_ns(half, end, now_ns)))
        close_by_rules(half, back, segment, mid_message);

    direction.walk.pass(end, head);
    direction.running = false;
    direction.largest_segment = largest;
    learn_order(direction,
                {plain.timestamp, plain.identification, plain.has_timestamp, orders_by_identification(direction)});
    remember_print(direction, {tcp.sequence, tcp.payload_length, plain.checksum, plain.identification});
    request.next = end;
    direction.new_octets += tcp.payload_length;
    if (!direction.recovering(request)) direction.marks.sent(end, now_ns);
    request.last_position = begin;
    request.last_data_ns = std::max(request.last_data_ns, now_ns);
    return true;
}

inline void Sender::payload(const Half& half, const Half& back, const Segment& segment) {
    const std::uint64_t next = half.request().next;
    const std::uint32_t length = segment.tcp().payload_length;
    if (next == 0 || segment.tcp().sequence != static_cast<std::uint32_t>(next) || length <= 1 ||
        half.direction->checksums == dissect::stream::ChecksumVerdict::unknown) [[unlikely]]
        return any_payload(half, back, segment);
    const Arrival arrival{segment, next, next + length, segment.timestamp(), segment.identification()};
    fresh(half, back, arrival);
    passed(half, arrival);
}

/// Octets that were not seen before, wholly.
inline void Sender::fresh(const Half& half, const Half& back, const Arrival& arrival) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    Situation situation;
    situation.mid_message = direction.walk.inside_message(request.next);
    const bool freed = request.freed_ns > request.last_data_ns && request.last_data_ns != Situation::never;
    if (freed) keep_least(request.reaction_min_ns, elapsed(request.freed_ns, arrival.now_ns()));
    const std::uint8_t opcode = direction.walk.advance(arrival.begin, arrival.end, arrival.segment.payload());
    situation.response = is_response(opcode);
    situation.wants_response = wants_answer(opcode);
    close_gap(half, back, arrival, situation);
    new_data(half, arrival);
}

/// Of data that its sender has sent, whether for the first time or again.
inline void Sender::passed(const Half& half, const Arrival& arrival) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    remember_print(direction, {arrival.segment.tcp().sequence, arrival.segment.tcp().payload_length,
                               arrival.segment.checksum(), arrival.identification.value_or(0)});
    direction.limited_in_gap_ns = 0;
    watch_window(half, arrival.now_ns());
    request.last_position = arrival.begin;
    request.last_data_ns = std::max(request.last_data_ns, arrival.now_ns());
    if (request.next >= highest_position) [[unlikely]]
        move_back(half);
}

inline void Sender::new_data(const Half& half, const Arrival& arrival) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    const std::uint32_t length = arrival.segment.tcp().payload_length;
    direction.running = false;
    learn_order(direction, order_of(direction, arrival));
    direction.largest_segment = std::max(direction.largest_segment, length);
    request.next = arrival.end;
    direction.new_octets += length;
    // While a loss is repaired, acknowledgements wait for the repair.
    if (!direction.recovering(request)) direction.marks.sent(arrival.end, arrival.now_ns());
}

inline bool Sender::orders_by_identification(const Direction& direction) {
    constexpr std::uint8_t orderly_enough = 4;
    return direction.orderly >= orderly_enough;
}

inline SendOrder Sender::order_of(const Direction& direction, const Arrival& arrival) {
    return {arrival.timestamp.value_or(0), arrival.identification.value_or(0), arrival.timestamp.has_value(),
            arrival.identification.has_value() && orders_by_identification(direction)};
}

/// Whether identifications go up by small steps from one new segment to the next. RFC 6864 leaves them free.
inline void Sender::learn_order(Direction& direction, const SendOrder& now) {
    constexpr std::uint16_t small_step = 64;
    constexpr std::uint8_t most = 16;
    const auto step = static_cast<std::uint16_t>(now.identification - direction.newest.identification);
    if (step != 0 && step <= small_step)
        direction.orderly = std::min<std::uint8_t>(static_cast<std::uint8_t>(direction.orderly + 1), most);
    else
        direction.orderly = static_cast<std::uint8_t>(direction.orderly / 2);
    direction.newest = now;
}

inline void Sender::close_gap(const Half& half, const Half& back, const Arrival& arrival, Situation& situation) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    const std::int64_t now_ns = arrival.now_ns();
    situation.now_ns = now_ns;
    situation.wire_bytes = arrival.segment.frame.wire_length + ethernet_overhead;
    situation.unobserved = request.unobserved;
    situation.byte_window = true;
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
    const bool usual = !situation.response && !situation.wants_response && !situation.again && !situation.unobserved &&
                       !situation.credit_exhausted;
    if (usual && closed_at_once(half, back, arrival.segment, situation.mid_message, situation.credit_freed_ns)) return;
    request.unobserved = false;
    // The store adds what Flow::ledger holds.
    situation.messages = direction.responses.messages();
    situation.bytes = direction.responses.bytes();
    situation.responses = direction.responses.responses();
    situation.messages_max = direction.level.messages_max;
    situation.bytes_max = direction.level.bytes_max;
    situation.responses_max = direction.responses.responses_max();
    store_.close_gap(*half.flow, situation, arrival.segment.context, arrival.frame());
}

/// The short way of Attribution, where the segment is one of those that it is for: of those that ask for nothing, come
/// for the first time and behind nothing that is missing, and did not wait for the window.
[[gnu::always_inline]] inline bool Sender::closed_at_once(const Half& half, const Half& back, const Segment& segment,
                                                          bool mid_message, std::int64_t credit_freed_ns) {
    const Direction& direction = *half.direction;
    Flow& flow = *half.flow;
    RequestState& request = half.request();
    if (request.unobserved || flow.drop_epoch != store_.drop_epoch ||
        direction.ece_ns != flow.attribution.signal_ns() || !store_.options.shortcut || store_.watch != nullptr)
        return false;
    const std::uint32_t round_trip_ns = back ? back.request().round_trip_min_ns : 0xffffffff;
    if (store_.options.attribution.reaction_tolerance_ns == 0 &&
        !flow.attribution.knows(round_trip_ns == 0xffffffff ? 0 : round_trip_ns)) [[unlikely]]
        return false;
    const FrameContext& context = segment.context;
    const std::uint32_t wire_octets = segment.frame.wire_length + ethernet_overhead;
    // A response frees when it completes.
    const std::int64_t inbound_ns = back ? back.request().message_end_ns : Situation::never;
    const std::int64_t news_ns = std::max(request.freed_ns, std::max(inbound_ns, credit_freed_ns));
    if (!flow.attribution.at_once(segment.now_ns(), wire_octets, context.source_bits_per_sec, news_ns,
                                  direction.responses.messages() + flow.ledger.messages(),
                                  direction.responses.responses() + flow.ledger.responses(), mid_message))
        return false;
    request.sibling_bytes_then = context.source_wire_bytes;
    request.own_bytes_since = wire_octets;
    request.pauses_then = context.source_pauses;
    return true;
}

// ---- what the receiver says ----

inline void Sender::complete(const Half& half, std::uint64_t position, std::int64_t now_ns, bool measure) {
    Flow& flow = *half.flow;
    Direction& direction = *half.direction;
    MessageState& message = direction.message;
    std::uint64_t undecided = 0;  // Immediate Data may follow yet
    if (message.write_end != 0 && message.write_end <= position) {
        flow.ledger.end(store_.rings, message.write_ns, Operation::write, message.write_end, message.write_bytes);
        undecided = std::exchange(message.write_end, 0);
    }
    if (store_.watch != nullptr) [[unlikely]]
        store_.watch->acknowledged(flow, position, now_ns, measure);
    const unsigned done =
        flow.ledger.acknowledge(store_.rings, now_ns, position, [&](const OutstandingMessage& outstanding) {
            if (outstanding.again || outstanding.merged || !measure || now_ns < outstanding.last_ns) return;
            const std::uint64_t latency_ns = elapsed(outstanding.last_ns, now_ns);
            const auto operation = static_cast<Operation>(static_cast<unsigned>(outstanding.operation));
            if (outstanding.position == undecided)
                message.write_latency_ns = latency_ns;
            else
                store_.record(flow, latency_of(operation), latency_ns);
        });
    half.request().freed_messages = done;
    if (done == 0) return;
    flow.attribution.freed(now_ns);
    direction.level.note(flow.ledger, direction.responses, now_ns);
}

/// It is known now what the last request, a Write that was acknowledged, had been.
inline void Sender::record_write(const Half& half, Operation operation) {
    std::optional<std::uint64_t>& latency_ns = half.direction->message.write_latency_ns;
    if (latency_ns) store_.record(*half.flow, latency_of(operation), *latency_ns);
    latency_ns.reset();
}

inline void Sender::take_round_trip(const Half& half, std::uint64_t position, std::int64_t now_ns) {
    const auto round_trip_ns = half.direction->marks.acknowledged(position, now_ns);
    if (!round_trip_ns) return;
    store_.record(*half.flow, FlowHistogram::round_trip, *round_trip_ns);
    keep_least(half.request().round_trip_min_ns, *round_trip_ns);
}

inline void Sender::acknowledged(const Half& half, const Segment& segment) {
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
    if (ahead > largest_window || ahead < -largest_window) return;
    if (ahead > 0 && !beyond_sent(half, segment, ahead)) return;
    if (position > request.acknowledged) {
        if (direction.holes != Flow::no_block) lost_holes(half, position, segment.frame.number, now_ns);
        request.acknowledged = position;
        request.freed_ns = now_ns;
        request.freed_messages = 0;
        take_round_trip(half, position, now_ns);
        complete(half, position, now_ns, true);
        direction.duplicate_run = 0;
        direction.first_duplicate_ns = Situation::never;
        // A partial acknowledgement tells of the next loss. RFC 6582, 3.2.
        if (direction.recovering(request) && direction.cause == RepeatCause::nak) believe(direction, direction.recover);
    } else if (position == request.acknowledged && segment.tcp().payload_length == 0) {
        repeated(half, segment, position);
    }
    if (segment.has_other_options()) selective(half, segment, position);
    if (position == request.acknowledged) receive_window(half, segment, position);
}

/// The window is the one that was told before.
inline bool Sender::keeps_window(const Half& half, const Segment& segment, std::uint64_t position) {
    const Direction& direction = *half.direction;
    const std::uint32_t raw = segment.tcp().window;
    return raw == direction.window && raw != 0 && direction.window_scale != 0xff &&
           direction.window_edge == position + (raw << direction.window_scale) &&
           direction.window_edge <= direction.reaches[0].edge;
}

inline void Sender::receive_window(const Half& half, const Segment& segment, std::uint64_t position) {
    Direction& direction = *half.direction;
    if (keeps_window(half, segment, position)) [[likely]]
        return watch_window(half, segment.now_ns());
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
inline std::uint64_t Sender::way_to_sender_ns(const Half& half) const {
    if (half.flow->reverse == no_flow) return 0;
    const std::uint32_t round_trip_ns = store_.table[half.flow->reverse].request.round_trip_min_ns;
    return round_trip_ns == 0xffffffff ? 0 : round_trip_ns;
}

/// Segments are admitted by what passed the tap a round trip to the sender ago: so much is kept, an eighth at a time.
inline void Sender::note_reach(const Half& half, std::int64_t now_ns) {
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
inline std::int64_t Sender::admitted_ns(const Half& half, std::uint64_t end, std::int64_t now_ns) const {
    const auto& reaches = half.direction->reaches;
    if (reaches.back().edge >= end) return Situation::never;  // as all of them, which are younger
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
inline void Sender::watch_window(const Half& half, std::int64_t now_ns) {
    Direction& direction = *half.direction;
    const std::uint64_t octets = wanted(direction.largest_segment, direction.last_unit_octets);
    const bool limited = direction.window_edge != 0 && direction.window_edge < half.request().next + octets;
    if (direction.limited_since_ns != Situation::never) {
        const std::uint64_t limited_ns = elapsed(direction.limited_since_ns, now_ns);
        direction.limited_ns += limited_ns;
        direction.limited_in_gap_ns += limited_ns;
    } else if (!limited) {
        return;
    }
    direction.limited_since_ns = limited ? now_ns : Situation::never;
}

}  // namespace metrics::stream
