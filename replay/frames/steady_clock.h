#pragma once
#include "replay/frames/injector.h"

namespace replay::inline frames {

/// CLOCK_MONOTONIC: sleeps until shortly before the time, and polls the clock for the rest, because the scheduler ends
/// a sleep late.
class SteadyClock final : public InjectClock {
public:
    /// `stop`: called at least ten times a second while it waits; null: never stops.
    explicit SteadyClock(bool (*stop)());

    std::int64_t now_ns() override;
    void wait(std::int64_t until_ns) override;

private:
    bool (*stop_)();
};

}  // namespace replay::frames
