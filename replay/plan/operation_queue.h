#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "replay/plan/planned_operation.h"

namespace replay::inline plan {

/// Operations on their way from the reading thread to the posting one: a limited number.
class OperationQueue {
public:
    static constexpr std::size_t capacity = std::size_t{1} << 15;

    /// Waits while there is no room; false if no thread takes operations any more.
    bool push(const std::vector<Operation>& operations) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return closed_ || queue_.size() < capacity; });
        if (closed_) return false;
        queue_.insert(queue_.end(), operations.begin(), operations.end());
        return true;
    }
    /// Takes what there is, at most `most`; does not wait.
    std::size_t take(std::vector<Operation>& into, std::size_t most) {
        const std::lock_guard lock(mutex_);
        const std::size_t count = queue_.size() < most ? queue_.size() : most;
        into.insert(into.end(), queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
        queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
        if (count != 0) changed_.notify_all();
        return count;
    }
    /// No more will come; `why` if that is a failure.
    void end(const std::string& why) {
        const std::lock_guard lock(mutex_);
        ended_ = true;
        failure_ = why;
    }
    bool ended() const {
        const std::lock_guard lock(mutex_);
        return ended_ && queue_.empty();
    }
    std::string failure() const {
        const std::lock_guard lock(mutex_);
        return failure_;
    }
    /// No thread takes operations any more.
    void close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        changed_.notify_all();
    }

private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Operation> queue_;
    std::string failure_;
    bool ended_ = false;
    bool closed_ = false;
};

}  // namespace replay::plan
