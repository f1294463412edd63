#include "replay/impair/stream_line.h"

#include <algorithm>

namespace replay::inline impair {

StreamLine::StreamLine(const ImpairmentSettings& settings, unsigned direction)
    : settings_(settings),
      corrupt_(settings.seed, 16 + direction),
      place_(settings.seed, 32 + direction),
      jitter_(settings.seed, 48 + direction),
      pace_(settings.bits_per_sec) {}

std::size_t StreamLine::put(base::Bytes octets, std::int64_t now_ns) {
    const base::Bytes taken = octets.first(std::min(octets.size(), room()));
    for (base::Bytes rest = taken; !rest.empty();) {
        const auto in_block = static_cast<std::size_t>(position_ % block_octets);
        if (in_block == 0) begin_block();
        const base::Bytes piece = rest.first(std::min(rest.size(), block_octets - in_block));
        take_piece(piece, now_ns);
        rest = rest.subspan(piece.size());
    }
    return taken.size();
}

void StreamLine::begin_block() {
    bit_.reset();
    const bool corrupted = corrupt_.chance(settings_.corrupt);
    if (corrupted) bit_ = static_cast<std::size_t>(place_.up_to(block_octets * 8 - 1));
    block_jitter_ns_ = static_cast<std::int64_t>(jitter_.up_to(settings_.jitter_ns));
}

/// Of one block.
void StreamLine::take_piece(base::Bytes octets, std::int64_t now_ns) {
    const auto in_block = static_cast<std::size_t>(position_ % block_octets);
    octets_.insert(octets_.end(), octets.begin(), octets.end());
    if (bit_ && *bit_ / 8 >= in_block && *bit_ / 8 < in_block + octets.size()) {
        octets_[octets_.size() - octets.size() + *bit_ / 8 - in_block] ^= std::byte{1} << (*bit_ % 8);
        ++corrupted_;
    }
    position_ += octets.size();
    const std::int64_t leaves_ns =
        pace_.pass(octets.size(), now_ns) + static_cast<std::int64_t>(settings_.delay_ns) + block_jitter_ns_;
    last_leaves_ns_ = std::max(last_leaves_ns_, leaves_ns);
    if (!pieces_.empty() && pieces_.back().leaves_ns == last_leaves_ns_)
        pieces_.back().end = position_;
    else
        pieces_.push_back({position_, last_leaves_ns_});
}

std::optional<std::int64_t> StreamLine::next_ns() const {
    return pieces_.empty() ? std::nullopt : std::optional{pieces_.front().leaves_ns};
}

base::Bytes StreamLine::ready(std::int64_t now_ns) const {
    std::uint64_t end = left_;
    for (const Piece& piece : pieces_) {
        if (piece.leaves_ns > now_ns) break;
        end = piece.end;
    }
    return base::Bytes{octets_}.subspan(first_, static_cast<std::size_t>(end - left_));
}

void StreamLine::consume(std::size_t octets) {
    octets = std::min(octets, waiting());
    left_ += octets;
    first_ += octets;
    while (!pieces_.empty() && pieces_.front().end <= left_) pieces_.pop_front();
    if (first_ == octets_.size() || first_ >= queue_octets) {
        octets_.erase(octets_.begin(), octets_.begin() + static_cast<std::ptrdiff_t>(first_));
        first_ = 0;
    }
}

}  // namespace replay::impair
