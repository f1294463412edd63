// Messages of which packets are missing: their octets count once their last packet, which may come late or again, has
// told what they are.
#include "metrics/roce/unfinished.h"

#include <algorithm>

#include "metrics/roce/message_pieces.h"

namespace metrics {

/// A packet that its message's first one does not lead up to, or that comes late or again. Without a hole before it,
/// the capture has begun in its midst.
void RoceTracker::piece_of_message(Flow& flow, const Progress& packet, std::uint32_t uncounted) {
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
        piece.told = packet.dma_length;
        piece.mtu_payload = static_cast<std::uint16_t>(std::min<std::uint32_t>(packet.payload, 0xffff));
    }
    if (packet.ends) piece.last_ns = packet.now_ns;
    piece.known = packet.ends;
    piece.operation = packet.operation;
    take_piece(flow, piece);
}

void RoceTracker::take_piece(Flow& flow, const MessagePiece& piece) {
    const PieceAdded added = add_piece(store_.trouble(flow).pieces, piece);
    if (added.counted != 0) store_.count(flow, added.operation).bytes += added.counted;
    if (added.given_up != 0) give_up(flow, added.given_up_operation, added.given_up);
    if (!added.found) return;
    store_.record_message(flow, added.found->bytes);
    // One that came out of order, or that was repaired at its beginning, has no such time.
    if (added.found->first_ns <= added.found->last_ns)
        store_.record(flow, FlowHistogram::message_duration, psn::elapsed(added.found->first_ns, added.found->last_ns));
}

/// The message under way, which lacks packets, ends with this one.
void RoceTracker::name_message(Flow& flow, const Progress& packet) {
    if (flow.trouble == Flow::no_block) return;
    const std::uint64_t end = packet.last + 1;
    const std::uint32_t waited =
        name_pieces(store_.troubles[flow.trouble].pieces, end - flow.request.message_packets, end, packet.operation);
    if (waited != 0) store_.count(flow, packet.operation).bytes += waited;
}

/// Packets behind the last one have not passed: the message under way will not be measured as a whole.
void RoceTracker::cut_message(Flow& flow) {
    RequestState& request = flow.request;
    if (!request.in_message || !request.message_whole) return;
    MessagePiece piece;
    piece.begin = request.next - request.message_packets;
    piece.end = request.next;
    piece.first_ns = request.message_first_ns;
    piece.bytes = request.message_counted;
    piece.told = request.message_told;
    piece.mtu_payload = request.mtu_payload;
    piece.operation = request.operation;
    piece.starts = true;
    take_piece(flow, piece);
    request.message_whole = false;
}

/// No piece waits for the end of their message any more. Where packets are repeated until they have arrived, it is most
/// likely that this came, and that the message was what it looks like.
void RoceTracker::give_up(Flow& flow, Operation operation, std::uint32_t octets) {
    const bool repeats = flow.key.service == Service::rc || flow.key.service == Service::xrc;
    if (repeats) store_.count(flow, operation).bytes += octets;
}

/// The end of the message under way has not passed.
void RoceTracker::leave_message(Flow& flow) {
    RequestState& request = flow.request;
    std::uint32_t held = 0;
    if (flow.trouble != Flow::no_block)
        held = hold_pieces(store_.troubles[flow.trouble].pieces, request.next - request.message_packets, request.next);
    if (request.message_counted > held) give_up(flow, request.operation, request.message_counted - held);
    request.message_bytes = 0;
    request.message_counted = 0;
    request.in_message = false;
}

/// The message under way turns out to begin at `position`: what passed before it is of one whose end was missing.
void RoceTracker::begin_later(Flow& flow, std::uint64_t position, std::uint32_t told) {
    RequestState& request = flow.request;
    const std::uint32_t held =
        hold_pieces(store_.trouble(flow).pieces, request.next - request.message_packets, position);
    request.message_counted -= std::min(held, request.message_counted);
    request.message_packets = static_cast<std::uint32_t>(request.next - position);
    request.message_bytes = std::uint64_t{request.message_packets} * request.mtu_payload;
    request.message_told = told;
}

/// A packet that was missing: octets and messages, each counted when it is seen for the first time.
void RoceTracker::fill_hole(Flow& flow, const Progress& packet) {
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
    piece_of_message(flow, packet, open || packet.ends ? 0 : packet.moved);
}

}  // namespace metrics
