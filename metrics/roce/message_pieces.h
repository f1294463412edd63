#pragma once
#include <cstdint>
#include <optional>

#include "metrics/flow/flow.h"

namespace metrics {

/// A message of which enough has passed to know its size.
struct MessageFound {
    std::uint32_t bytes = 0;
    std::int64_t first_ns = 0;  ///< when its first packet passed
    std::int64_t last_ns = 0;
};

/// More of a message that has packets missing. Returns the message where all of it has passed now, or where its first
/// packet told its length (RETH; IBTA vol. 1, 9.4.3) and its last one lies where that has it end. Where there is no
/// room, the piece farthest back is given up.
std::optional<MessageFound> add_piece(MessagePieces& pieces, MessagePiece piece);

}  // namespace metrics
