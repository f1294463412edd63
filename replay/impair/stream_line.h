#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "replay/impair/impairment_settings.h"
#include "replay/impair/pace.h"
#include "replay/impair/random.h"

namespace replay::inline impair {

/// The same for one direction of a stream of bytes, as TCP delivers it: (bytes, now) → which bytes leave when.
///
/// A stream can be late and slow, and its bytes can be wrong: delay, jitter, rate, corruption. TCP repairs loss,
/// reordering and duplication below the stream, and marks stand in headers: those settings have no effect here. Bytes
/// keep their order. A share of corruption is of blocks of `block_octets`, counted from the stream's beginning: about
/// one frame each; a corrupted block has one bit changed. The results depend on places in the stream and not on how it
/// was cut into pieces; jitter is drawn for every block.
class StreamLine {
public:
    static constexpr std::size_t block_octets = 1448;
    static constexpr std::size_t queue_octets = std::size_t{4} << 20;

    /// `direction` separates the draws of a connection's two directions.
    StreamLine(const ImpairmentSettings& settings, unsigned direction);

    /// Puts bytes in; `now_ns` never goes back. Accepts as many as there is room for; returns their number.
    std::size_t put(base::Bytes octets, std::int64_t now_ns);
    std::size_t room() const { return queue_octets - waiting(); }
    bool empty() const { return waiting() == 0; }

    /// When more bytes leave; no value if none wait.
    std::optional<std::int64_t> next_ns() const;
    /// The bytes that leave at `now_ns` or before, as far as they lie in one piece; valid until the next call.
    base::Bytes ready(std::int64_t now_ns) const;
    void consume(std::size_t octets);

    std::uint64_t octets() const { return position_; }             ///< that came
    std::uint64_t corrupted_blocks() const { return corrupted_; }  ///< blocks whose changed bit has come

private:
    struct Piece {
        std::uint64_t end = 0;  ///< position in the stream
        std::int64_t leaves_ns = 0;
    };
    std::size_t waiting() const { return static_cast<std::size_t>(position_ - left_); }
    void begin_block();
    void take_piece(base::Bytes octets, std::int64_t now_ns);

    ImpairmentSettings settings_;
    Random corrupt_, place_, jitter_;
    Pace pace_;
    std::int64_t last_leaves_ns_ = INT64_MIN;
    std::int64_t block_jitter_ns_ = 0;
    std::optional<std::size_t> bit_;  ///< to change in the present block
    std::uint64_t position_ = 0;
    std::uint64_t left_ = 0;
    std::uint64_t corrupted_ = 0;
    std::deque<Piece> pieces_;
    std::vector<std::byte> octets_;  ///< waiting bytes begin at `first_`
    std::size_t first_ = 0;
};

}  // namespace replay::impair
