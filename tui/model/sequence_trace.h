#pragma once
#include <cstdint>
#include <deque>
#include <memory>

#include "metrics/figures/snapshot.h"
#include "metrics/measure/notes/sequence_points.h"
#include "tui/model/feed.h"

namespace tui::inline model {

using metrics::SequencePoint;

/// Follows the frames of one flow and its reverse. Points of the flow are its data, and the reverse's ACKs and NAKs.
class SequenceTrace {
public:
    explicit SequenceTrace(std::size_t max_points = 1 << 16);
    ~SequenceTrace();

    /// Follows another flow: forgets everything, and reads the frames that the source still has from the oldest on.
    void follow(const metrics::FlowSnapshot& flow);
    /// Whether it follows this flow, as far as the flow's ends are known: a QPN may become known later, by pairing.
    bool follows(const metrics::FlowSnapshot& flow) const;
    void clear();
    /// Reads new frames, at most `most`; call it once for each refresh. Returns whether there are more.
    bool advance(Feed& feed, std::size_t most = 50'000);

    const std::deque<SequencePoint>& points() const;  ///< in the order of time; the oldest go first
    std::uint64_t flow() const;                       ///< 0: none

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace tui::model
