#include "metrics/measure/roce/roce_messages.h"

#include <algorithm>

#include "metrics/measure/packet/psn.h"
#include "metrics/measure/roce/message_pieces.h"

namespace metrics::inline measure::inline roce {

bool continues_message(const RequestState& request, const Progress& packet, std::uint32_t hole, bool otherwise) {
    if (!request.in_message || packet.starts ||
        first_packet_operation(packet.operation) != first_packet_operation(request.operation))
        return false;
    if (request.message_length == 0 || request.mtu_payload == 0) return otherwise;
    const std::uint64_t packets = psn::packets_of(request.message_length, request.mtu_payload);
    const std::uint64_t place = std::uint64_t{request.message_packets} + hole + 1;
    return packet.ends ? place == packets : place < packets;
}

/// The size and duration of a message of several packets; this is its next packet. They are known if all of it has
/// passed.
[[gnu::always_inline]] inline void RoceMessages::measure_part(Flow& flow, const Progress& packet) {
    RequestState& request = flow.request;
    if (packet.starts) {
        request.message_first_ns = packet.now_ns;
        request.message_length = packet.dma_length;
        request.message_packets = 1;
        request.message_whole = true;
        if (!packet.ends) return;
    } else if (request.message_whole && request.in_message) [[likely]] {
        ++request.message_packets;
        if (!packet.ends) return;
    } else {
        if (!request.in_message) request.message_length = request.message_packets = 0;
        request.message_whole = false;
        ++request.message_packets;
        add_piece(flow, packet, 0);
        if (packet.ends) name_pieces(flow, packet);
        return;
    }
    store_.record_message(flow, request.message_counted);
    store_.record(flow, FlowHistogram::message_duration, psn::elapsed(request.message_first_ns, packet.now_ns));
    request.message_whole = false;
}

/// The part of add() that differs if a message takes several packets.
void RoceMessages::add_part(Flow& flow, const Progress& packet) {
    RequestState& request = flow.request;
    if (packet.starts || !request.in_message) {
        request.message_bytes = 0;
        request.message_counted = 0;
        request.operation = packet.operation;
        if (packet.starts && reuse_ != nullptr) note_reuse(flow, packet);
    }
    request.message_bytes += packet.moved;
    request.message_counted += packet.moved;
    measure_part(flow, packet);
    if (packet.ends) {
        const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(request.message_bytes, 0xffffffff));
        // Immediate data and invalidation show at a message's end only: until then its bytes are counted nowhere.
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

void RoceMessages::add_unacknowledged(Flow& flow, const Progress& packet) {
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

/// A packet that its message's first one does not lead up to, or that comes late or again. Without a hole before it,
/// the capture has begun inside its message.
void RoceMessages::add_piece(Flow& flow, const Progress& packet, std::uint32_t uncounted) {
    if (flow.trouble == Flow::no_block) return;
    MessagePiece piece;
    piece.begin = packet.last;
    piece.end = packet.last + 1;
    piece.bytes = packet.moved;
    piece.uncounted = uncounted;
    piece.starts = packet.starts;
    piece.ends = packet.ends;
    if (packet.starts) {
        piece.first_ns = packet.now_ns;
        piece.length = packet.dma_length;
        piece.mtu_payload = static_cast<std::uint16_t>(std::min<std::uint32_t>(packet.payload, 0xffff));
    }
    if (packet.ends) piece.last_ns = packet.now_ns;
    piece.known = packet.ends;
    piece.operation = packet.operation;
    add_piece(flow, piece);
}

void RoceMessages::add_piece(Flow& flow, const MessagePiece& piece) {
    const PieceAdded added = metrics::add_piece(store_.trouble(flow).pieces, piece);
    if (added.counted != 0) store_.count(flow, added.operation).bytes += added.counted;
    if (added.given_up != 0) count_abandoned(flow, added.given_up_operation, added.given_up);
    if (!added.found) return;
    store_.record_message(flow, added.found->bytes);
    // One that came out of order, or that was repaired at its beginning, has no such time.
    if (added.found->first_ns <= added.found->last_ns)
        store_.record(flow, FlowHistogram::message_duration, psn::elapsed(added.found->first_ns, added.found->last_ns));
}

/// The message under way, which lacks packets, ends with this one.
void RoceMessages::name_pieces(Flow& flow, const Progress& packet) {
    if (flow.trouble == Flow::no_block) return;
    const std::uint64_t end = packet.last + 1;
    const std::uint32_t waited = metrics::name_pieces(store_.troubles[flow.trouble].pieces,
                                                      end - flow.request.message_packets, end, packet.operation);
    if (waited != 0) store_.count(flow, packet.operation).bytes += waited;
}

void RoceMessages::cut(Flow& flow) {
    RequestState& request = flow.request;
    if (!request.in_message || !request.message_whole) return;
    MessagePiece piece;
    piece.begin = request.next - request.message_packets;
    piece.end = request.next;
    piece.first_ns = request.message_first_ns;
    piece.bytes = request.message_counted;
    piece.length = request.message_length;
    piece.mtu_payload = request.mtu_payload;
    piece.operation = request.operation;
    piece.starts = true;
    add_piece(flow, piece);
    request.message_whole = false;
}

/// No piece waits for the end of their message any more. If packets are repeated until they have arrived, the end most
/// likely came, and the message was what it looks like.
void RoceMessages::count_abandoned(Flow& flow, Operation operation, std::uint32_t bytes) {
    const bool repeats = flow.key.service == Service::rc || flow.key.service == Service::xrc;
    if (repeats) store_.count(flow, operation).bytes += bytes;
}

void RoceMessages::leave(Flow& flow) {
    RequestState& request = flow.request;
    std::uint32_t held = 0;
    if (flow.trouble != Flow::no_block)
        held = hold_pieces(store_.troubles[flow.trouble].pieces, request.next - request.message_packets, request.next);
    if (request.message_counted > held) count_abandoned(flow, request.operation, request.message_counted - held);
    request.message_bytes = 0;
    request.message_counted = 0;
    request.in_message = false;
}

/// The present message turns out to begin at `position`: what passed before belongs to a message whose end was missing.
void RoceMessages::begin_later(Flow& flow, std::uint64_t position, std::uint32_t length) {
    RequestState& request = flow.request;
    const std::uint32_t held =
        hold_pieces(store_.trouble(flow).pieces, request.next - request.message_packets, position);
    request.message_counted -= std::min(held, request.message_counted);
    request.message_packets = static_cast<std::uint32_t>(request.next - position);
    request.message_bytes = std::uint64_t{request.message_packets} * request.mtu_payload;
    request.message_length = length;
}

void RoceMessages::add_late(Flow& flow, const Progress& packet) {
    RequestState& request = flow.request;
    flow.counts.payload_bytes += packet.payload;
    if (packet.ends) {
        OperationCounts::Count& counted = store_.count(flow, packet.operation);
        ++counted.messages;
        counted.bytes += packet.moved;
    }
    const bool within =
        request.in_message && packet.last < request.next && request.next - packet.last <= request.message_packets;
    if (within && packet.ends)
        begin_later(flow, packet.last + 1, 0);
    else if (within && packet.starts)
        begin_later(flow, packet.last, packet.dma_length);
    if (packet.starts && packet.ends) return store_.record_message(flow, packet.moved);
    const bool open = within && !packet.ends;
    if (open) request.message_counted += packet.moved;
    add_piece(flow, packet, open || packet.ends ? 0 : packet.moved);
}

}  // namespace metrics::measure::roce
