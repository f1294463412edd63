#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wire/frame.h"

namespace metrics::inline measure::posts {

/// When the last frames were, by their numbers. A message's first packet may lie a million frames back.
class FrameTimes {
public:
    static constexpr std::size_t most = std::size_t{1} << 20;
    static constexpr std::int64_t unknown = INT64_MIN;

    /// While nothing is traced: what passes between a record and its reading.
    static constexpr std::size_t few = std::size_t{1} << 16;

    /// In the order of the capture; numbers ascend. Keeps the last `kept` of them, at most `most`; a number that never
    /// falls.
    void add(std::span<const wire::Frame> frames, std::size_t kept = most);
    std::int64_t at(std::uint64_t frame) const;  ///< unknown: not among those kept
    std::size_t octets() const { return ring_.capacity() * sizeof(Entry); }

private:
    struct Entry {
        std::uint64_t frame = 0;
        std::int64_t time_ns = 0;
    };
    const Entry& entry(std::size_t place) const { return ring_[(head_ + place) & (ring_.size() - 1)]; }
    void add(const Entry& entry, std::size_t kept);

    std::vector<Entry> ring_;  ///< a power of two
    std::size_t head_ = 0;
    std::size_t count_ = 0;
};

}  // namespace metrics::measure::posts
