#include "tui/model/sequence_trace.h"

namespace tui {

struct SequenceTrace::State {
    std::size_t max_points;
    std::uint64_t flow = 0;
    std::deque<SequencePoint> points = {};
};

SequenceTrace::SequenceTrace(std::size_t max_points) : state_(std::make_unique<State>(State{max_points})) {}
SequenceTrace::~SequenceTrace() = default;

void SequenceTrace::follow(const metrics::FlowSnapshot& flow) {
    clear();
    state_->flow = flow.id;
}
void SequenceTrace::clear() {
    state_->flow = 0;
    state_->points.clear();
}
bool SequenceTrace::advance(Feed&, std::size_t) { return false; }
const std::deque<SequencePoint>& SequenceTrace::points() const { return state_->points; }
std::uint64_t SequenceTrace::flow() const { return state_->flow; }

}  // namespace tui
