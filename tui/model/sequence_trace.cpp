#include "tui/model/sequence_trace.h"

#include <algorithm>
#include <vector>

#include "dissect/dissector.h"

namespace tui::inline model {

struct SequenceTrace::State {
    explicit State(std::size_t most) : max_points(std::max<std::size_t>(most, 1)) {}

    void take(const wire::Frame& frame);
    void restart();

    std::size_t max_points;
    std::uint64_t flow = 0;
    std::optional<std::uint32_t> source_qpn = {};
    metrics::SequencePoints source = {};
    std::uint64_t next_frame = 1;
    dissect::Dissection dissection = {};
    std::vector<SequencePoint> taken = {};  ///< of the present frame
    std::deque<SequencePoint> points = {};
};

void SequenceTrace::State::restart() {
    points.clear();
    next_frame = 1;
    source.restart();
}

void SequenceTrace::State::take(const wire::Frame& frame) {
    static constexpr dissect::ParseOptions options{false};
    dissect::dissect_frame(frame, options, dissection);
    taken.clear();
    source.take(frame, dissection, taken);
    for (const SequencePoint& point : taken) {
        // The chart of congestion shows CNPs.
        if (point.kind == SequencePoint::Kind::cnp) continue;
        points.push_back(point);
        if (points.size() > max_points) points.pop_front();
    }
}

SequenceTrace::SequenceTrace(std::size_t max_points) : state_(std::make_unique<State>(max_points)) {}
SequenceTrace::~SequenceTrace() = default;

void SequenceTrace::follow(const metrics::FlowSnapshot& flow) {
    State& state = *state_;
    state.flow = flow.id;
    state.source_qpn = flow.source.qpn;
    state.source.follow(flow);
    state.restart();
}

bool SequenceTrace::follows(const metrics::FlowSnapshot& flow) const {
    return state_->flow == flow.id && state_->source_qpn == flow.source.qpn;
}

void SequenceTrace::clear() {
    state_->flow = 0;
    state_->restart();
}

bool SequenceTrace::advance(Feed& feed, std::size_t most) {
    State& state = *state_;
    const FeedStatus status = feed.status();
    if (state.flow == 0 || !status.has_packets || status.first_packet == 0 || most == 0) return false;
    if (status.last_packet + 1 < state.next_frame) state.restart();  // a jump back in time
    const std::uint64_t from = std::max(state.next_frame, status.first_packet);
    if (from > status.last_packet) return false;
    feed.packets(from, most, [&state](const wire::Frame& frame) {
        state.next_frame = frame.number + 1;
        state.take(frame);
        return true;
    });
    return state.next_frame <= status.last_packet;
}

const std::deque<SequencePoint>& SequenceTrace::points() const { return state_->points; }
std::uint64_t SequenceTrace::flow() const { return state_->flow; }

}  // namespace tui::model
