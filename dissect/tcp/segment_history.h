#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "dissect/tcp/segment_store.h"

namespace dissect::tcp {

/// Which frame carried which bytes, for the last 64 stretches of a direction in the order of the stream. A stretch ends
/// where the next one begins. An entry has eight bytes, because every connection has such a history.
class SegmentHistory {
public:
    void note(std::uint32_t sequence, std::uint64_t frame) {
        const auto step = static_cast<std::int64_t>(frame - newest_frame_);
        if (step <= furthest_step && step >= -furthest_step) [[likely]] {
            append({sequence, static_cast<std::int32_t>(step)});
        } else {
            count_ = 0;  // a connection that was idle for billions of frames
            append({sequence, 0});
        }
        newest_frame_ = frame;
    }
    /// No frame carried the bytes from there on.
    void note_lost(std::uint32_t sequence) { append({sequence, no_step}); }

    /// The frame of a byte that lies before the stream's next one; 0 if no frame carried it, or if it is older than the
    /// history.
    std::uint64_t find(std::uint32_t sequence) const {
        std::uint64_t frame = newest_frame_;
        for (std::size_t i = 1; i <= count_; ++i) {
            const Entry& entry = entries_[(next_ - i) % entries_.size()];
            const bool lost = entry.step == no_step;
            if (distance(sequence, entry.sequence) >= 0) return lost ? 0 : frame;
            if (!lost) frame -= static_cast<std::uint64_t>(std::int64_t{entry.step});
        }
        return 0;
    }
    /// Prefetches the memory that note() will change, except the first bytes.
    void prefetch() const { __builtin_prefetch(&entries_[next_ % entries_.size()], 1); }
    /// The first bytes, which note() needs wherever it writes.
    static constexpr std::size_t fixed_octets = sizeof(std::uint64_t) + 2 * sizeof(std::uint32_t);

private:
    struct Entry {
        std::uint32_t sequence = 0;  ///< where the stretch begins
        std::int32_t step = 0;       ///< difference to the frame of the previous stretch, in the order of the capture
    };
    static constexpr std::int32_t no_step = INT32_MIN;
    static constexpr std::int64_t furthest_step = INT32_MAX;

    void append(const Entry& entry) {
        entries_[next_ % entries_.size()] = entry;
        ++next_;
        if (count_ < entries_.size()) ++count_;
    }

    std::uint64_t newest_frame_ = 0;
    std::uint32_t next_ = 0;
    std::uint32_t count_ = 0;
    std::array<Entry, 64> entries_{};
};

}  // namespace dissect::tcp
