#include "observe/traced_analyzer.h"

#include <algorithm>

#include "base/clock.h"

namespace observe {

namespace {

/// Records are passed on for this much time, or for this number of frames, at once: a queue pair keeps a bounded number
/// of work requests whose messages have not been seen.
constexpr std::uint64_t step_ns = 1'000'000;
constexpr std::size_t step_frames = 256;

}  // namespace

TracedAnalyzer::TracedAnalyzer(const metrics::AnalyzerOptions& options, std::unique_ptr<TraceInput> trace)
    : trace_(std::move(trace)),
      join_(trace_ == nullptr ? nullptr : std::make_unique<metrics::posts::TraceJoin>()),
      analyzer_(watched(options, join_.get())) {}

void TracedAnalyzer::read_trace(std::int64_t until_ns) {
    if (const auto read = trace_->read_until(until_ns, join_->queue_pairs()); !read) error_ = read.error();
}

void TracedAnalyzer::settle(bool last) {
    join_->settle([this](std::uint64_t id, metrics::FlowSnapshot& out) { return analyzer_.identify(id, out); }, last);
}

void TracedAnalyzer::feed(std::span<const wire::Frame> frames, bool lasting) {
    if (join_ == nullptr) return analyzer_.feed(frames, lasting);
    fed_ = true;
    if (!std::exchange(begun_, true)) analyzer_.learn_copies(frames);
    while (!frames.empty()) {
        const std::int64_t end_ns = base::later(frames.front().time_ns, step_ns);
        std::size_t count = 1;
        while (count < std::min(frames.size(), step_frames) && frames[count].time_ns < end_ns) ++count;
        const std::span<const wire::Frame> now = frames.first(count);
        const auto* const last = std::max_element(
            now.data(), now.data() + now.size(),
            [](const wire::Frame& one, const wire::Frame& other) { return one.time_ns < other.time_ns; });
        read_trace(base::later(last->time_ns, metrics::posts::TraceJoin::lead_ns));
        join_->frames(now);
        analyzer_.feed(now, lasting);
        settle(false);
        frames = frames.subspan(count);
    }
}

void TracedAnalyzer::dropped(std::int64_t now_ns, std::uint64_t frames) {
    if (join_ != nullptr && frames > 0) join_->dropped();
    analyzer_.dropped(now_ns, frames);
}

void TracedAnalyzer::finish() {
    if (join_ != nullptr) read_trace(base::end_of_time);
    analyzer_.finish();
    if (join_ != nullptr) settle(true);
}

void TracedAnalyzer::listen() {
    if (join_ == nullptr) return;
    if (!std::exchange(fed_, false)) trace_->at_leisure();
    read_trace(0);
}

metrics::Snapshot TracedAnalyzer::snapshot() {
    metrics::Snapshot out = analyzer_.snapshot();
    if (join_ != nullptr) join_->describe(out);
    return out;
}

metrics::Snapshot TracedAnalyzer::take_snapshot() {
    metrics::Snapshot out = analyzer_.take_snapshot();
    if (join_ != nullptr) join_->describe(out);
    return out;
}

}  // namespace observe
