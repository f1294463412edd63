#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "capture/recorder/flight_recorder.h"

namespace cli::top {

/// The latest frames of a source, for views that show packets: as many as fit the memory. One thread may keep frames
/// while another one reads them.
class FrameRing {
public:
    /// At most `frame_octets` bytes of each frame are kept.
    explicit FrameRing(std::uint32_t frame_octets = 0xffff, std::size_t memory_octets = std::size_t{64} << 20);

    /// The numbers of these frames follow the numbers of the last call.
    void keep(std::span<const wire::Frame> frames);
    void clear();

    struct Extent {
        std::uint64_t count = 0;
        std::uint64_t first = 0;  ///< number of the first frame; 0 if there are no frames
        std::uint64_t last = 0;
    };
    Extent extent() const;
    /// As Feed::packets.
    std::size_t visit(std::uint64_t from, std::size_t most, const std::function<bool(const wire::Frame&)>& sink) const;

private:
    /// The places of some frames at equal distances, so that a search need not start at the beginning.
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
