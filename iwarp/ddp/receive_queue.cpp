#include "iwarp/ddp/receive_queue.h"

#include <algorithm>
#include <utility>

namespace iwarp::ddp {

namespace {
constexpr std::uint32_t first_slots = 8;
}

ReceiveQueue::ReceiveQueue(std::uint32_t capacity, std::uint32_t max_pieces)
    : capacity_(capacity), max_pieces_(max_pieces) {}

Posted ReceiveQueue::post(const ReceiveRequest& request) {
    if (count_ >= capacity_) return Posted::queue_full;
    if (request.pieces.size() > max_pieces_) return Posted::too_many_pieces;
    if (count_ == slots_.size()) make_slots(std::min(capacity_, std::max(first_slots, 2 * count_)));
    std::uint32_t at = first_ + count_;
    if (at >= slots_.size()) at -= static_cast<std::uint32_t>(slots_.size());
    Receive& slot = slots_[at];
    slot.id = request.id;
    slot.pieces.assign(request.pieces.begin(), request.pieces.end());
    slot.length = 0;
    for (const Sge& piece : slot.pieces) slot.length += piece.length;
    ++count_;
    return Posted::ok;
}

bool ReceiveQueue::take(Receive& out) {
    if (count_ == 0) return false;
    std::swap(out, slots_[first_]);
    if (++first_ == slots_.size()) first_ = 0;
    --count_;
    if (limit_ != 0 && count_ < limit_) limit_reached_ = true;
    return true;
}

bool ReceiveQueue::resize(std::uint32_t capacity) {
    if (capacity < count_) return false;
    if (capacity < slots_.size()) make_slots(capacity);
    capacity_ = capacity;
    return true;
}

void ReceiveQueue::arm_limit(std::uint32_t limit) {
    limit_ = limit;
    limit_reached_ = false;
}

bool ReceiveQueue::limit_reached() {
    if (!limit_reached_) return false;
    arm_limit(0);
    return true;
}

// To `slots` slots, not fewer than are in use; the oldest moves to the front.
void ReceiveQueue::make_slots(std::uint32_t slots) {
    std::rotate(slots_.begin(), slots_.begin() + first_, slots_.end());
    first_ = 0;
    slots_.resize(slots);
}

}  // namespace iwarp::ddp
