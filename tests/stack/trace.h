#pragma once
#include <cstdint>
#include <ctime>
#include <utility>
#include <vector>

#include "metrics/figures/state.h"

namespace stack {

/// The clock of captures.
inline std::int64_t real_ns() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

/// What a program did with its time, by its own word: every nanosecond from the first enter() on has one state.
class Trace {
public:
    void enter(metrics::State state) { changes_.emplace_back(real_ns(), state); }
    /// The present stretch was of another kind, as has turned out.
    void rename(metrics::State state) { changes_.back().second = state; }
    /// Time in each state from `begin_ns` to `end_ns`; before the first enter() the program waited for its peer.
    metrics::StateTimes between(std::int64_t begin_ns, std::int64_t end_ns) const {
        metrics::StateTimes times{};
        metrics::State state = metrics::State::peer_wait;
        std::int64_t since_ns = begin_ns;
        const auto add = [&](std::int64_t until_ns) {
            if (until_ns > end_ns) until_ns = end_ns;
            if (until_ns <= since_ns) return;
            times[metrics::index_of(state)] += static_cast<std::uint64_t>(until_ns - since_ns);
            since_ns = until_ns;
        };
        for (const auto& [time_ns, next] : changes_) {
            add(time_ns);
            state = next;
        }
        add(end_ns);
        return times;
    }

private:
    std::vector<std::pair<std::int64_t, metrics::State>> changes_;
};

}  // namespace stack
