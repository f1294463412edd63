#include "metrics/measure/posts/outstanding_posts.h"

#include <algorithm>

namespace metrics::inline measure::posts {

std::optional<Operation> operation_of(std::uint8_t work_opcode) {
    // enum ibv_wr_opcode of libibverbs' verbs.h; its values are part of the kernel's ABI.
    switch (work_opcode) {
        case 0: return Operation::write;
        case 1: return Operation::write_immediate;
        case 2:
        case 10: return Operation::send;  // 10: IBV_WR_TSO, a send of a raw or UD queue pair
        case 3: return Operation::send_immediate;
        case 4: return Operation::read;
        case 5: return Operation::compare_swap;
        case 6: return Operation::fetch_add;
        case 9: return Operation::send_invalidate;
        default: return std::nullopt;
    }
}

void OutstandingPosts::post(const Request& request) {
    if (count_ == ring_.size()) {
        std::vector<Request> wider(std::max<std::size_t>(16, 2 * ring_.size()));
        for (std::size_t i = 0; i < count_; ++i) wider[i] = at(i);
        ring_ = std::move(wider);
        head_ = 0;
    }
    if (request.signalled) signalled_.push_back(popped_ + count_);
    ring_[(head_ + count_++) & (ring_.size() - 1)] = request;
}

OutstandingPosts::Completed OutstandingPosts::find(std::uint64_t id, bool failed) const {
    if (failed && count_ > 0 && at(0).id == id) return {1, 0};
    const std::size_t signalled = std::min(signalled_.size(), farthest);
    for (std::size_t i = 0; i < signalled; ++i) {
        const auto place = static_cast<std::size_t>(signalled_[i] - popped_);
        if (at(place).id == id) return {place + 1, i};
    }
    // A failed one, or the recorder did not know that all requests of the queue pair are signalled (sq_sig_all).
    std::size_t missed = 0;
    for (std::size_t place = 0; place < std::min(count_, farthest); ++place) {
        if (at(place).id == id) return {place + 1, missed};
        if (at(place).signalled) ++missed;
    }
    return {};
}

void OutstandingPosts::pop(std::size_t count) {
    count = std::min(count, count_);
    count_ -= count;
    popped_ += count;
    while (!signalled_.empty() && signalled_.front() < popped_) signalled_.pop_front();
    if (!ring_.empty()) head_ = (head_ + count) & (ring_.size() - 1);
}

}  // namespace metrics::measure::posts
