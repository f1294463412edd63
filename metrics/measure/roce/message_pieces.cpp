#include "metrics/measure/roce/message_pieces.h"

#include "metrics/measure/packet/psn.h"

namespace metrics::inline measure::inline roce {

namespace {

bool is_used(const MessagePiece& piece) { return piece.begin != piece.end; }
bool overlap(const MessagePiece& piece, std::uint64_t begin, std::uint64_t end) {
    return is_used(piece) && piece.begin < end && begin < piece.end;
}
/// A message whose size is known, although packets of it are missing.
bool is_span(const MessagePiece& piece) { return piece.starts && piece.ends; }

/// `next` continues where `piece` stops.
void join(MessagePiece& piece, const MessagePiece& next) {
    piece.end = next.end;
    piece.bytes += next.bytes;
    piece.uncounted += next.uncounted;
    piece.ends = next.ends;
    piece.last_ns = next.last_ns;
    if (!next.known) return;
    piece.known = true;
    piece.operation = next.operation;
}

/// Whether the message that `first` begins ends with `last`, by the length in its first packet.
bool are_of_one(const MessagePiece& first, const MessagePiece& last) {
    if (!is_used(first) || !is_used(last) || !first.starts || first.ends || last.starts || !last.ends) return false;
    if (first.length == 0 || first.mtu_payload == 0 || last.begin <= first.begin) return false;
    const std::uint64_t packets = psn::packets_of(first.length, first.mtu_payload);
    const std::uint64_t skipped = last.begin - first.begin;
    return last.end == first.begin + packets && last.bytes == first.length - skipped * first.mtu_payload;
}

/// Counts what waited in the piece, if it need not wait any more.
void count(MessagePiece& piece, PieceAdded& added) {
    if (!piece.known) return;
    added.counted += piece.uncounted;
    added.operation = piece.operation;
    piece.uncounted = 0;
}

/// A packet that was missing in a message whose size is known. That message is kept until all of it has passed.
void fill(MessagePiece& span, MessagePiece piece, PieceAdded& added) {
    piece.known = true;
    piece.operation = span.operation;
    count(piece, added);
    span.bytes += piece.bytes;
    if (span.bytes >= span.length) span = {};
}

/// The size of a message is known now: what passed inside it is part of it, and so is what is still missing.
void keep_span(MessagePieces& pieces, MessagePiece& place, MessagePiece span, PieceAdded& added) {
    for (MessagePiece& kept : pieces) {
        if (!overlap(kept, span.begin, span.end)) continue;
        span.bytes += kept.bytes;
        span.uncounted += kept.uncounted;
        kept = {};
    }
    count(span, added);
    if (span.bytes < span.length) place = span;
}

/// Better to give up than `other`.
bool yields(const MessagePiece& piece, const MessagePiece& other) {
    if (is_used(piece) != is_used(other)) return !is_used(piece);
    if (is_span(piece) != is_span(other)) return is_span(piece);
    return piece.end < other.end;
}

}  // namespace

PieceAdded add_piece(MessagePieces& pieces, const MessagePiece& more) {
    PieceAdded added;
    MessagePiece piece = more;
    for (MessagePiece& kept : pieces) {
        if (!overlap(kept, piece.begin, piece.end)) continue;
        if (is_span(kept)) fill(kept, piece, added);
        return added;
    }
    for (MessagePiece& kept : pieces) {
        if (!is_used(kept)) continue;
        if (kept.end == piece.begin && !kept.ends && !piece.starts) {
            join(kept, piece);
            piece = kept;
            kept = {};
        } else if (kept.begin == piece.end && !piece.ends && !kept.starts) {
            join(piece, kept);
            kept = {};
        }
    }
    count(piece, added);
    if (is_span(piece)) {
        added.found = MessageFound{piece.bytes, piece.first_ns, piece.last_ns};
        return added;
    }
    MessagePiece* place = &pieces[0];
    for (MessagePiece& kept : pieces) {
        if (are_of_one(piece, kept) || are_of_one(kept, piece)) {
            MessagePiece span = piece.starts ? piece : kept;
            join(span, piece.starts ? kept : piece);
            kept = {};
            added.found = MessageFound{span.length, span.first_ns, span.last_ns};
            keep_span(pieces, kept, span, added);
            return added;
        }
        if (yields(kept, *place)) place = &kept;
    }
    if (is_used(*place)) {
        added.given_up = place->uncounted;
        added.given_up_operation = place->operation;
    }
    *place = piece;
    return added;
}

std::uint32_t name_pieces(MessagePieces& pieces, std::uint64_t begin, std::uint64_t end, Operation operation) {
    std::uint32_t waited = 0;
    for (MessagePiece& piece : pieces) {
        if (!overlap(piece, begin, end) || is_span(piece)) continue;
        piece.known = true;
        piece.operation = operation;
        waited += piece.uncounted;
        piece.uncounted = 0;
    }
    return waited;
}

std::uint32_t hold_pieces(MessagePieces& pieces, std::uint64_t begin, std::uint64_t end) {
    std::uint32_t held = 0;
    for (MessagePiece& piece : pieces) {
        if (!overlap(piece, begin, end) || piece.known) continue;
        held += piece.bytes - piece.uncounted;
        piece.uncounted = piece.bytes;
    }
    return held;
}

}  // namespace metrics::measure::roce
