#include "metrics/measure/posts/frame_times.h"

#include <algorithm>

namespace metrics::inline measure::posts {

void FrameTimes::add(const Entry& entry, std::size_t kept) {
    if (count_ == kept) {
        head_ = (head_ + 1) & (ring_.size() - 1);
        --count_;
    }
    if (count_ == ring_.size()) {
        std::vector<Entry> wider(std::max<std::size_t>(1024, 2 * ring_.size()));
        for (std::size_t i = 0; i < count_; ++i) wider[i] = this->entry(i);
        ring_ = std::move(wider);
        head_ = 0;
    }
    ring_[(head_ + count_++) & (ring_.size() - 1)] = entry;
}

void FrameTimes::add(std::span<const wire::Frame> frames, std::size_t kept) {
    for (const wire::Frame& frame : frames) {
        // A live interface that is opened again numbers frames from 1: earlier frames will not be asked for again.
        if (count_ > 0 && frame.number <= entry(count_ - 1).frame) head_ = count_ = 0;
        add(Entry{frame.number, frame.time_ns}, kept);
    }
}

std::int64_t FrameTimes::at(std::uint64_t frame) const {
    if (count_ == 0 || frame < entry(0).frame) return unknown;
    // Without a filter, numbers follow each other.
    const std::uint64_t place = frame - entry(0).frame;
    if (place < count_ && entry(static_cast<std::size_t>(place)).frame == frame)
        return entry(static_cast<std::size_t>(place)).time_ns;
    std::size_t low = 0;
    std::size_t high = count_;
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (entry(middle).frame < frame)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count_ && entry(low).frame == frame ? entry(low).time_ns : unknown;
}

}  // namespace metrics::measure::posts
