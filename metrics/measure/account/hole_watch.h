#pragma once
#include <cstdint>

#include "metrics/figures/path_figures.h"

namespace metrics::inline measure::inline account {

/// What becomes of the missing and late packets of a flow, which shows how its receiver treats packets out of order.
/// Trivially copyable, allocates nothing. While is_open(), every acknowledgement of the flow must be passed on.
class HoleWatch {
public:
    /// The network was late with the packet at `position`. `refused`: its receiver has asked for it again.
    void late(std::uint64_t position, bool refused);
    /// A packet is sent again. `next` is the position after the highest packet sent; `fills`: it was missing at the
    /// tap. `begins`: it begins a run, which only a timer explains if `timeout`.
    void repeat(std::uint64_t position, std::uint64_t next, bool fills, bool begins, bool timeout);
    /// A NAK for the packet at `position`.
    void nak(std::uint64_t position);
    /// Everything up to and including `position` is acknowledged.
    void acknowledged(std::uint64_t position);

    /// Positions change their meaning: what is open stays undecided.
    void forget_positions() { filled_ = run_end_ = 0; }

    bool is_open() const { return filled_ != 0 || run_end_ != 0; }
    HoleOutcomes outcomes() const { return {in_order_, selective_, placing_}; }

private:
    void settle_run();

    std::uint64_t filled_ = 0;     // position that a late packet has filled; 0 = none waits for its acknowledgement
    std::uint64_t run_begin_ = 0;  // first packet of the run
    std::uint64_t run_end_ = 0;    // after the highest packet that had been sent before the run; 0 = no run
    std::uint32_t run_filled_ = 0;
    std::uint32_t run_again_ = 0;  // packets of the run that had passed before
    std::uint32_t in_order_ = 0;
    std::uint32_t selective_ = 0;
    std::uint32_t placing_ = 0;
    bool run_of_timer_ = false;
};

}  // namespace metrics::measure::account
