#include "cli/top/frame_ring.h"

#include <algorithm>
#include <limits>

namespace cli::top {

namespace {

std::unique_ptr<capture::FlightRecorder> make_recorder(std::uint32_t frame_octets, std::size_t memory_octets) {
    capture::FlightRecorderOptions options;
    options.memory_octets = memory_octets;
    options.before_ns = std::numeric_limits<std::int64_t>::max();
    options.frame_octets = frame_octets;
    return std::make_unique<capture::FlightRecorder>(options);
}

}  // namespace

FrameRing::FrameRing(std::uint32_t frame_octets, std::size_t memory_octets)
    : frame_octets_(frame_octets),
      memory_octets_(memory_octets),
      recorder_(make_recorder(frame_octets, memory_octets)) {}

void FrameRing::keep(std::span<const wire::Frame> frames) {
    const std::lock_guard lock(mutex_);
    for (const wire::Frame& frame : frames) {
        if (marks_.empty() || frame.number >= marks_.back().number + mark_distance)
            marks_.push_back({frame.number, recorder_->end()});
        recorder_->keep(frame);
        last_ = frame.number;
    }
    const std::uint64_t oldest = recorder_->oldest().sequence;
    while (marks_.size() > 1 && marks_[1].position.sequence <= oldest) marks_.pop_front();
}

void FrameRing::clear() {
    const std::lock_guard lock(mutex_);
    recorder_ = make_recorder(frame_octets_, memory_octets_);
    marks_.clear();
    last_ = 0;
}

/// A place at or before the frame.
capture::FlightRecorder::Position FrameRing::begin_of(std::uint64_t number) const {
    const auto after = std::upper_bound(marks_.begin(), marks_.end(), number,
                                        [](std::uint64_t value, const Mark& mark) { return value < mark.number; });
    const capture::FlightRecorder::Position oldest = recorder_->oldest();
    if (after == marks_.begin()) return oldest;
    const capture::FlightRecorder::Position marked = std::prev(after)->position;
    return marked.sequence > oldest.sequence ? marked : oldest;
}

FrameRing::Extent FrameRing::extent() const {
    const std::lock_guard lock(mutex_);
    Extent extent;
    extent.count = recorder_->extent().frames;
    if (extent.count == 0) return extent;
    capture::FlightRecorder::Position at = recorder_->oldest();
    capture::FlightRecorder::Kept kept;
    if (recorder_->next(at, kept)) extent.first = kept.frame.number;
    extent.last = last_;
    return extent;
}

std::size_t FrameRing::visit(std::uint64_t from, std::size_t most,
                             const std::function<bool(const wire::Frame&)>& sink) const {
    const std::lock_guard lock(mutex_);
    if (marks_.empty()) return 0;
    capture::FlightRecorder::Position at = begin_of(from);
    capture::FlightRecorder::Kept kept;
    std::size_t count = 0;
    while (count < most && recorder_->next(at, kept)) {
        if (kept.frame.number < from) continue;
        ++count;
        if (!sink(kept.frame)) break;
    }
    return count;
}

}  // namespace cli::top
