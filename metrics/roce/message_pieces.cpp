#include "metrics/roce/message_pieces.h"

namespace metrics {

namespace {

bool is_used(const MessagePiece& piece) { return piece.begin != piece.end; }

/// `behind` goes on where `piece` stops.
void join(MessagePiece& piece, const MessagePiece& behind) {
    piece.end = behind.end;
    piece.bytes += behind.bytes;
    piece.ends = behind.ends;
    piece.last_ns = behind.last_ns;
}

/// Whether the message that `first` begins ends with `last`, by the length that it told. All packets but the last are
/// as long as the path's MTU allows: IBTA vol. 1, 9.4.1.
bool are_of_one(const MessagePiece& first, const MessagePiece& last) {
    if (!is_used(first) || !is_used(last) || !first.starts || !last.ends) return false;
    if (first.told == 0 || first.mtu_payload == 0 || last.begin <= first.begin) return false;
    const std::uint64_t packets = (std::uint64_t{first.told} + first.mtu_payload - 1) / first.mtu_payload;
    const std::uint64_t skipped = last.begin - first.begin;
    return last.end == first.begin + packets && last.bytes == first.told - skipped * first.mtu_payload;
}

}  // namespace

std::optional<MessageFound> add_piece(MessagePieces& pieces, MessagePiece piece) {
    for (const MessagePiece& kept : pieces)
        if (is_used(kept) && kept.begin < piece.end && piece.begin < kept.end) return {};
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
    if (piece.starts && piece.ends) return MessageFound{piece.bytes, piece.first_ns, piece.last_ns};
    MessagePiece* place = &pieces[0];
    for (MessagePiece& kept : pieces) {
        if (are_of_one(piece, kept) || are_of_one(kept, piece)) {
            const MessagePiece& first = piece.starts ? piece : kept;
            const MessagePiece& last = piece.starts ? kept : piece;
            const MessageFound found{first.told, first.first_ns, last.last_ns};
            kept = {};
            return found;
        }
        if (is_used(*place) && (!is_used(kept) || kept.end < place->end)) place = &kept;
    }
    *place = piece;
    return {};
}

}  // namespace metrics
