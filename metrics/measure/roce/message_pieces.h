#pragma once
#include <cstdint>
#include <optional>

#include "metrics/measure/flow/flow.h"

namespace metrics::inline measure::inline roce {

/// A message whose size is known because enough of it has passed.
struct MessageFound {
    std::uint32_t bytes = 0;
    std::int64_t first_ns = 0;  ///< when its first packet passed
    std::int64_t last_ns = 0;
};

/// The result of adding a piece.
struct PieceAdded {
    std::optional<MessageFound> found;
    std::uint32_t counted = 0;  ///< bytes that had waited for the message's end, and now count under `operation`
    Operation operation = Operation::send;
    std::uint32_t given_up = 0;  ///< bytes that waited in the piece that was given up, of a message that looked like:
    Operation given_up_operation = Operation::send;
};

/// More of a message that has packets missing. Finds the message if all of it has passed now, or if its first packet
/// had its length (RETH; IBTA vol. 1, 9.4.3) and its last one lies where that length makes it end. If there is no room,
/// the oldest piece is given up.
PieceAdded add_piece(MessagePieces& pieces, const MessagePiece& more);

/// The message [begin, end) has ended, and was this operation. Returns how many bytes had waited for that.
std::uint32_t name_pieces(MessagePieces& pieces, std::uint64_t begin, std::uint64_t end, Operation operation);
/// The end of [begin, end) is missing, its bytes wait for it. Returns how many had not waited until now.
std::uint32_t hold_pieces(MessagePieces& pieces, std::uint64_t begin, std::uint64_t end);

}  // namespace metrics::measure::roce
