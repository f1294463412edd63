#pragma once
#include <algorithm>
#include <cstdint>

#include "metrics/measure/account/attribution.h"

namespace metrics::inline measure::iwarp {

/// How the sender of a direction repairs losses: runs of segments that it sends again. RFC 6582, RFC 6675, RFC 8985.
class LossRecovery {
public:
    /// Whether a loss is being repaired while everything before `acknowledged` is.
    bool is_under_way(std::uint64_t acknowledged) const { return end_ > acknowledged; }
    /// One past the last byte that had been sent when the repair began.
    std::uint64_t end() const { return end_; }
    RepeatCause cause() const { return cause_; }
    /// Whether the last data segment was one of a run of repeated ones.
    bool is_running() const { return running_; }
    /// Whether a repeat of `position` means that the repeat before it was lost as well. Further duplicates from the
    /// flight of the first loss say nothing about its repeat: RFC 6582, 3.2; RFC 8985, 6.2.
    bool lost_again(std::uint64_t position) const { return head_ == position && !head_overtaken_; }
    /// Whether a repeat of `position` begins a run.
    bool begins(std::uint64_t position) const { return !running_ || position <= run_position_ || lost_again(position); }
    void begin(RepeatCause cause) { cause_ = cause; }
    /// A segment from `position` on is sent again; `next` is one past what has been sent.
    void repeat(std::uint64_t position, std::uint64_t acknowledged, std::uint64_t next) {
        if (position <= acknowledged) {
            head_ = position;
            head_next_ = next;
            head_overtaken_ = false;
        }
        running_ = true;
        run_position_ = position;
        end_ = std::max(end_, next);
    }
    /// A segment with new data ends a run.
    void end_run() { running_ = false; }
    /// SACK reports bytes up to `top`; its newest block is from `left` to `right`. The newest block comes first: it may
    /// hold what was sent again after the head.
    void selective(std::uint64_t left, std::uint64_t right, std::uint64_t top) {
        const bool again = run_position_ > head_ && left <= run_position_ && right > run_position_;
        if (again || top > head_next_) head_overtaken_ = true;
    }
    /// Positions change their meaning.
    void forget_positions() { end_ = head_ = run_position_ = 0; }

private:
    std::uint64_t end_ = 0;
    std::uint64_t run_position_ = 0;
    std::uint64_t head_ = 0;       ///< the first unacknowledged byte when it was last sent again
    std::uint64_t head_next_ = 0;  ///< one past what had been sent at that time
    RepeatCause cause_ = RepeatCause::none;
    bool running_ = false;
    bool head_overtaken_ = false;  ///< the receiver has reported what was sent after `head_` since
};

}  // namespace metrics::measure::iwarp
