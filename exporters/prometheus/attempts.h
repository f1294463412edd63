#pragma once
#include <array>
#include <cstdint>
#include <map>

#include "exporters/prometheus/tables.h"
#include "metrics/figures/snapshot.h"

namespace exporters::prometheus {

/// Connection attempts without a flow, each counted once, when its outcome is known; one without an answer
/// counts after ten seconds of the capture.
class Attempts {
public:
    static constexpr std::int64_t patience_ns = 10'000'000'000;
    static constexpr std::size_t most_waiting = 4096;
    static constexpr std::size_t transports = 4;
    using Counts = std::array<std::array<std::uint64_t, attempt_outcomes.size()>, transports>;

    void add(const metrics::Snapshot& difference, const metrics::Snapshot& now);
    const Counts& counts() const { return counts_; }

private:
    struct Waiting {
        std::int64_t since_ns = 0;
        bool counted = false;
    };
    void count(wire::Transport transport, metrics::AttemptOutcome outcome);
    void look_after_waiting(const metrics::Snapshot& now);

    std::map<std::uint64_t, Waiting> waiting_;  ///< by request frame
    Counts counts_{};
};

}  // namespace exporters::prometheus
