#pragma once
#include <algorithm>

#include "dissect/tcp/sequence.h"
#include "metrics/measure/iwarp/receiver_inline.h"
#include "metrics/measure/iwarp/sender.h"
#include "wire/rdmap.h"

/// What nearly every segment needs of Sender, for the compiler to see as a whole. What is rare is in sender.cpp.
namespace metrics::inline measure::iwarp {

using dissect::tcp::largest_window;

inline bool is_response(std::uint8_t opcode) {
    const auto what = static_cast<wire::RdmapOpcode>(opcode);
    return what == wire::RdmapOpcode::read_response || what == wire::RdmapOpcode::atomic_response;
}
inline bool wants_answer(std::uint8_t opcode) {
    const auto what = static_cast<wire::RdmapOpcode>(opcode);
    return what == wire::RdmapOpcode::read_request || what == wire::RdmapOpcode::atomic_request;
}

inline void Sender::segment(const Half& half, const Half& back, const Segment& segment) {
    if (segment.has(tcp_cwr)) ++half.sent().cwr;
    if (segment.has(tcp_syn)) return;
    if (segment.has(tcp_rst)) return reset(half, back, segment);
    if (segment.tcp().payload_length != 0) {
        payload(half, back, segment);
    } else if (segment.has(tcp_ack)) {
        half.flow->count_acknowledgement();
    }
    if (segment.has(tcp_fin) && !half.sent().fin_sent) finish(half, back, segment);
}

/// All checks come before the first change, because the function must change nothing if it returns false.
[[gnu::always_inline]] inline bool Sender::common(const Half& half, const Half& back, const Segment& segment,
                                                  const Segment::Plain& plain) {
    const dissect::TcpSummary& tcp = segment.tcp();
    Direction& direction = *half.direction;
    SentData& sent = half.sent();
    const ReceiveWindow& window = half.received().window;
    RequestState& request = half.request();
    const std::uint64_t begin = request.next;
    const std::uint64_t end = begin + tcp.payload_length;
    const std::uint32_t largest = std::max(sent.largest_segment, tcp.payload_length);
    FpduHead head;
    if (begin == 0 || tcp.sequence != static_cast<std::uint32_t>(begin) || end >= highest_position ||
        sent.checksums == dissect::tcp::ChecksumVerdict::unknown || !window.has_room(end + largest) ||
        window.limited_in_gap_ns() != 0 || !direction.walk.is_next(begin, end, segment.payload(), head) ||
        is_response(head.opcode) || wants_answer(head.opcode) || direction.lacks_messages() ||
        back.direction->lacks_messages())
        return false;

    const std::int64_t now_ns = segment.now_ns();
    const bool freed = request.freed_ns > request.last_data_ns && request.last_data_ns != Situation::never;
    if (freed) keep_least(request.reaction_min_ns, elapsed(request.freed_ns, now_ns));
    const bool mid_message = direction.walk.inside_message(begin);
    if (!closed_at_once(half, back, segment, mid_message, receiver_.admitted_ns(half, end, now_ns)))
        close_by_rules(half, back, segment, mid_message);

    direction.walk.pass(end, head);
    sent.recovery.end_run();
    sent.largest_segment = largest;
    sent.order.learn(
        {plain.timestamp, plain.identification, plain.has_timestamp, sent.order.counts_identification_up()});
    sent.prints.add({tcp.sequence, tcp.payload_length, plain.checksum, plain.identification});
    request.next = end;
    sent.new_bytes += tcp.payload_length;
    if (!half.is_recovering()) sent.marks.sent(end, now_ns);
    request.last_position = begin;
    request.last_data_ns = std::max(request.last_data_ns, now_ns);
    return true;
}

inline void Sender::payload(const Half& half, const Half& back, const Segment& segment) {
    const std::uint64_t next = half.request().next;
    const std::uint32_t length = segment.tcp().payload_length;
    if (next == 0 || segment.tcp().sequence != static_cast<std::uint32_t>(next) || length <= 1 ||
        half.sent().checksums == dissect::tcp::ChecksumVerdict::unknown) [[unlikely]]
        return any_payload(half, back, segment);
    const Arrival arrival{segment, next, next + length, segment.timestamp(), segment.identification()};
    fresh(half, back, arrival);
    passed(half, arrival);
}

/// Bytes that were not seen before, wholly.
inline void Sender::fresh(const Half& half, const Half& back, const Arrival& arrival) {
    FpduWalk& walk = half.direction->walk;
    RequestState& request = half.request();
    Situation situation;
    situation.mid_message = walk.inside_message(request.next);
    const bool freed = request.freed_ns > request.last_data_ns && request.last_data_ns != Situation::never;
    if (freed) keep_least(request.reaction_min_ns, elapsed(request.freed_ns, arrival.now_ns()));
    const std::uint8_t opcode = walk.advance(arrival.begin, arrival.end, arrival.segment.payload());
    situation.response = is_response(opcode);
    situation.wants_response = wants_answer(opcode);
    close_gap(half, back, arrival, situation);
    new_data(half, arrival);
}

/// Data that its sender has sent, whether for the first time or again.
inline void Sender::passed(const Half& half, const Arrival& arrival) {
    RequestState& request = half.request();
    half.sent().prints.add({arrival.segment.tcp().sequence, arrival.segment.tcp().payload_length,
                            arrival.segment.checksum(), arrival.identification.value_or(0)});
    half.received().window.begin_gap();
    Receiver::watch_window(half, arrival.now_ns());
    request.last_position = arrival.begin;
    request.last_data_ns = std::max(request.last_data_ns, arrival.now_ns());
    if (request.next >= highest_position) [[unlikely]]
        move_back(half);
}

inline void Sender::new_data(const Half& half, const Arrival& arrival) {
    SentData& sent = half.sent();
    const std::uint32_t length = arrival.segment.tcp().payload_length;
    sent.recovery.end_run();
    sent.order.learn(arrival.order(sent));
    sent.largest_segment = std::max(sent.largest_segment, length);
    half.request().next = arrival.end;
    sent.new_bytes += length;
    // While a loss is repaired, acknowledgements wait for the repair.
    if (!half.is_recovering()) sent.marks.sent(arrival.end, arrival.now_ns());
}

inline void Sender::close_gap(const Half& half, const Half& back, const Arrival& arrival, Situation& situation) {
    Direction& direction = *half.direction;
    RequestState& request = half.request();
    const std::int64_t now_ns = arrival.now_ns();
    situation.now_ns = now_ns;
    situation.wire_bytes = arrival.segment.wire_length() + ethernet_overhead;
    // What the sender had to do is unknown while messages pass unread.
    if (direction.lacks_messages() || (back && back.direction->lacks_messages())) [[unlikely]]
        request.unobserved = true;
    situation.unobserved = request.unobserved;
    situation.byte_window = true;
    if (back) {
        situation.inbound_ns = back.request().message_end_ns;
        const std::uint32_t round_trip_ns = back.request().round_trip_min_ns;
        if (round_trip_ns != 0xffffffff) {
            situation.sender_round_trip_min_ns = round_trip_ns;
            if (!back.sent().answered_by_data) situation.sender_distance_ns = round_trip_ns;
        }
    }
    situation.signal_ns = half.received().ece_ns;
    Receiver::watch_window(half, now_ns);
    const std::uint64_t gap_ns = elapsed(request.last_data_ns, now_ns);
    situation.credit_exhausted = gap_ns != 0 && request.last_data_ns != Situation::never &&
                                 half.received().window.limited_in_gap_ns() >= gap_ns - gap_ns / 2;
    situation.credit_freed_ns = receiver_.admitted_ns(half, arrival.end, now_ns);
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

/// The short way of Attribution, if the segment is one of those that it is for: segments that ask for nothing, come for
/// the first time and after nothing that is missing, and did not wait for the window.
[[gnu::always_inline]] inline bool Sender::closed_at_once(const Half& half, const Half& back, const Segment& segment,
                                                          bool mid_message, std::int64_t credit_freed_ns) {
    const Direction& direction = *half.direction;
    Flow& flow = *half.flow;
    RequestState& request = half.request();
    if (request.unobserved || flow.drop_epoch != store_.drop_epoch ||
        direction.received.ece_ns != flow.attribution.signal_ns() || !store_.options.shortcut || store_.is_observed())
        return false;
    const std::uint32_t round_trip_ns = back ? back.request().round_trip_min_ns : 0xffffffff;
    if (store_.options.attribution.reaction_tolerance_ns == 0 &&
        !flow.attribution.knows(round_trip_ns == 0xffffffff ? 0 : round_trip_ns)) [[unlikely]]
        return false;
    const FrameContext& context = segment.context;
    const std::uint32_t wire_bytes = segment.wire_length() + ethernet_overhead;
    // A response frees when it completes.
    const std::int64_t inbound_ns = back ? back.request().message_end_ns : Situation::never;
    const std::int64_t news_ns = std::max(request.freed_ns, std::max(inbound_ns, credit_freed_ns));
    if (!flow.attribution.at_once(segment.now_ns(), wire_bytes, context.source_bits_per_sec, news_ns,
                                  direction.responses.messages() + flow.ledger.messages(),
                                  direction.responses.responses() + flow.ledger.responses(), mid_message))
        return false;
    request.sibling_bytes_then = context.source_wire_bytes;
    request.own_bytes_since = wire_bytes;
    request.pauses_then = context.source_pauses;
    return true;
}

}  // namespace metrics::measure::iwarp
