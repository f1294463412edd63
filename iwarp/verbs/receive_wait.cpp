#include "iwarp/verbs/receive_wait.h"

#include <iterator>
#include <utility>

#include "iwarp/verbs/shared_receive_queue.h"

namespace iwarp::verbs {

void ReceiveWait::begin(SharedReceiveQueue::Impl* queue, std::int64_t now_ns, std::chrono::milliseconds patience) {
    if (!until_ns_) until_ns_ = now_ns + std::chrono::nanoseconds(patience).count();
    if (queue_ != nullptr || queue == nullptr) return;
    queue_ = queue;
    if (entry_.empty()) entry_.push_back(&connection_);
    queue->waiting.splice(queue->waiting.end(), entry_);
    place_ = std::prev(queue->waiting.end());
}

void ReceiveWait::end() {
    until_ns_.reset();
    leave_queue();
}

void ReceiveWait::leave_queue() {
    if (SharedReceiveQueue::Impl* const queue = std::exchange(queue_, nullptr))
        entry_.splice(entry_.end(), queue->waiting, place_);
}

}  // namespace iwarp::verbs
