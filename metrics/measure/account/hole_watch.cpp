#include "metrics/measure/account/hole_watch.h"

namespace metrics::inline measure::inline account {

void HoleWatch::late(std::uint64_t position, bool refused) {
    if (refused) {
        ++in_order_;
        filled_ = 0;
        return;
    }
    if (run_end_ == 0) filled_ = position;
}

void HoleWatch::repeat(std::uint64_t position, std::uint64_t next, bool fills, bool begins, bool timeout) {
    filled_ = 0;
    if (begins) {
        run_begin_ = position;
        run_end_ = next;
        run_filled_ = run_again_ = 0;
        run_of_timer_ = timeout;
    }
    if (run_end_ == 0 || position < run_begin_ || position >= run_end_) return;
    ++(fills ? run_filled_ : run_again_);
}

void HoleWatch::nak(std::uint64_t position) {
    if (filled_ == 0 || position > filled_) return;
    ++in_order_;
    filled_ = 0;
}

void HoleWatch::acknowledged(std::uint64_t position) {
    if (filled_ != 0 && position > filled_) {
        ++placing_;
        filled_ = 0;
    }
    if (run_end_ != 0 && position + 1 >= run_end_) settle_run();
}

/// Of the packets that had passed before the run, a receiver in order needs all again. Where nothing was missing at the
/// tap, the first one was lost after it, and one more packet is no evidence.
void HoleWatch::settle_run() {
    const bool seen = run_filled_ > 0;
    std::uint64_t passed = run_end_ - run_begin_ - run_filled_;
    std::uint64_t again = run_again_;
    if (!seen && passed > 0) --passed;
    if (!seen && again > 0) --again;
    run_end_ = 0;
    // After a timer, an acknowledgement may have been lost, and nothing else.
    if (passed < (seen ? 1u : 2u) || (run_of_timer_ && !seen)) return;
    if (again * 2 < passed)
        ++selective_;
    else if (!run_of_timer_)
        ++in_order_;
}

}  // namespace metrics::measure::account
