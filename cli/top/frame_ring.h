#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "capture/recorder/flight_recorder.h"

namespace cli::top {

/// The last frames of a source, for the screens that look into them: as many as fit a bound of memory. For one thread
/// that keeps and one that looks.
class FrameRing {
public:
    /// `frame_octets` are kept of each frame, at most.
    explicit FrameRing(std::uint32_t frame_octets = 0xffff, std::size_t memory_octets = std::size_t{64} << 20);

    /// Frames whose numbers follow those of the last call.
    void keep(std::span<const wire::Frame> frames);
    void clear();

    struct Extent {
        std::uint64_t count = 0;
        std::uint64_t first = 0;  ///< numbers; 0 if absent
        std::uint64_t last = 0;
    };
    Extent extent() const;
    /// As Feed::packets.
    std::size_t visit(std::uint64_t from, std::size_t most, const std::function<bool(const wire::Frame&)>& sink) const;

private:
    /// Where a frame lies: of every so manieth, so that none has to be looked for from the beginning.
    struct Mark {
        std::uint64_t number = 0;
        capture::FlightRecorder::Position position;
    };
    static constexpr std::uint64_t mark_distance = 256;

    capture::FlightRecorder::Position begin_of(std::uint64_t number) const;

    std::uint32_t frame_octets_;
    std::size_t memory_octets_;
    mutable std::mutex mutex_;
    std::unique_ptr<capture::FlightRecorder> recorder_;
    std::deque<Mark> marks_ = {};
    std::uint64_t last_ = 0;
};

}  // namespace cli::top
