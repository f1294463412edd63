#pragma once
#include <cstdint>

namespace trace::inline perf {

/// A clock of nanoseconds read by a processor's counter, for measurements where the clock itself would take half the
/// time. The clock is read once in a millisecond, and the counter's rate is measured from one time to the next, so that
/// adjustments of the clock (NTP) are followed; both agree within tens of nanoseconds. Times of one object do not go
/// back, unless the clock is set back.
///
/// `Counter` and `Clock` are called without arguments; the first returns ticks, the second nanoseconds. If the counter
/// stands still, all times come from the clock. For one thread.
template <class Counter, class Clock>
class CounterClock {
public:
    constexpr CounterClock(Counter counter, Clock clock) : counter_(counter), clock_(clock) {}

    std::int64_t now_ns() {
        const std::uint64_t ticks = counter_() - base_ticks_;
        // Also a counter that has begun again is far from its base.
        const std::int64_t now = ticks < good_ticks_ ? base_ns_ + scaled(ticks) : adjusted();
        if (now < last_ns_ && last_ns_ - now < most_correction_ns) return last_ns_;
        return last_ns_ = now;
    }

private:
    static constexpr unsigned fraction_bits = 32;
    static constexpr std::int64_t good_ns = 1'000'000;  ///< the clock is asked again
    static constexpr std::int64_t longest_measure_ns = 1'000'000'000;
    static constexpr std::int64_t most_correction_ns = 10'000;
    /// Two rates that differ by more than one part in this number: something other than the counter's inaccuracy.
    static constexpr std::uint64_t tolerance = 1000;
    /// A clock takes tens of nanoseconds; with a pause between the three readings they do not belong together.
    static constexpr std::uint64_t most_ticks_apart = 2000;

    std::int64_t scaled(std::uint64_t ticks) const {
        return static_cast<std::int64_t>(ticks * ns_per_tick_ >> fraction_bits);
    }

    [[gnu::noinline]] std::int64_t adjusted() {
        const std::uint64_t before = counter_();
        const std::int64_t now = clock_();
        const std::uint64_t between = counter_() - before;
        if (between > most_ticks_apart) return now;  // the next call tries again
        const std::uint64_t ticks = before + between / 2;
        const std::uint64_t elapsed_ticks = ticks - base_ticks_;
        const std::int64_t elapsed_ns = now - base_ns_;
        if (!based_ || elapsed_ns < 0 || elapsed_ns > longest_measure_ns || elapsed_ticks == 0) {
            // Too long ago, or the first: the former rate may no longer be right.
            begin_at(ticks, now);
            return now;
        }
        if (elapsed_ns < good_ns) return now;  // too short to measure
        const std::uint64_t rate = (static_cast<std::uint64_t>(elapsed_ns) << fraction_bits) / elapsed_ticks;
        const std::uint64_t difference = rate > ns_per_tick_ ? rate - ns_per_tick_ : ns_per_tick_ - rate;
        const bool plausible = rate != 0 && rate < (std::uint64_t{64} << fraction_bits);
        if (!plausible || (ns_per_tick_ != 0 && difference > ns_per_tick_ / tolerance)) {
            begin_at(ticks, now);
            return now;
        }
        base_ticks_ = ticks;
        base_ns_ = now;
        ns_per_tick_ = rate;
        // Their product with the rate takes 52 bits.
        good_ticks_ = (static_cast<std::uint64_t>(good_ns) << fraction_bits) / rate;
        return now;
    }
    void begin_at(std::uint64_t ticks, std::int64_t now) {
        based_ = true;
        base_ticks_ = ticks;
        base_ns_ = now;
        ns_per_tick_ = 0;
        good_ticks_ = 0;
    }

    Counter counter_;
    Clock clock_;
    bool based_ = false;
    std::uint64_t base_ticks_ = 0;
    std::uint64_t good_ticks_ = 0;   ///< after the base: 0 while the rate is unknown
    std::uint64_t ns_per_tick_ = 0;  ///< with fraction_bits of fraction
    std::int64_t base_ns_ = 0;
    std::int64_t last_ns_ = 0;
};

}  // namespace trace::perf
