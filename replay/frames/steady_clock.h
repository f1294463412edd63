#pragma once
#include "replay/frames/injector.h"

namespace replay::inline frames {

/// CLOCK_MONOTONIC: sleeps until shortly before, and looks at the clock for the rest, as a sleep ends late by what the
/// scheduler needs.
class SteadyClock final : public InjectClock {
public:
    /// `stop`: asked at least ten times a second while it waits; null is never.
    explicit SteadyClock(bool (*stop)());

    std::int64_t now_ns() override;
    void wait(std::int64_t until_ns) override;

private:
    bool (*stop_)();
};

}  // namespace replay::frames
