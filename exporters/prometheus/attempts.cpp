#include "exporters/prometheus/attempts.h"

#include <algorithm>

namespace exporters::prometheus {
namespace {
constexpr metrics::AttemptOutcome unanswered = metrics::AttemptOutcome::unanswered;

const metrics::ConnectionAttempt* find(const metrics::Snapshot& snapshot, std::uint64_t frame) {
    const auto found =
        std::lower_bound(snapshot.attempts.begin(), snapshot.attempts.end(), frame,
                         [](const metrics::ConnectionAttempt& a, std::uint64_t f) { return a.request_frame < f; });
    return found == snapshot.attempts.end() || found->request_frame != frame ? nullptr : &*found;
}
}  // namespace

void Attempts::count(wire::Transport transport, metrics::AttemptOutcome outcome) {
    const auto known = std::find(attempt_outcomes.begin(), attempt_outcomes.end() - 1, outcome);
    ++counts_[static_cast<std::size_t>(transport) % transports]
             [static_cast<std::size_t>(known - attempt_outcomes.begin())];
}

void Attempts::add(const metrics::Snapshot& difference, const metrics::Snapshot& now) {
    for (const auto& attempt : difference.attempts) {
        const auto found = waiting_.find(attempt.request_frame);
        if (attempt.outcome == unanswered) {
            if (found == waiting_.end() && waiting_.size() < most_waiting)
                waiting_.emplace(attempt.request_frame, Waiting{attempt.request_ns, false});
            continue;
        }
        // An answer that came after the attempt was given up counts no second time.
        if (found == waiting_.end() || !found->second.counted) count(attempt.transport, attempt.outcome);
        if (found != waiting_.end()) waiting_.erase(found);
    }
    look_after_waiting(now);
}

void Attempts::look_after_waiting(const metrics::Snapshot& now) {
    for (auto at = waiting_.begin(); at != waiting_.end();) {
        const auto* attempt = find(now, at->first);
        // Flows came of it, or it was forgotten.
        if (attempt == nullptr) {
            at = waiting_.erase(at);
            continue;
        }
        if (!at->second.counted && now.capture.last_ns - at->second.since_ns >= patience_ns) {
            count(attempt->transport, unanswered);
            at->second.counted = true;
        }
        ++at;
    }
}

}  // namespace exporters::prometheus
