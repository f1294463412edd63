#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "wire/frame.h"

namespace capture::inline recorder {

struct FlightRecorderOptions {
    std::size_t memory_octets = std::size_t{64} << 20;  ///< the whole of it, reserved once; at least one frame's
    std::uint64_t before_ns = 10'000'000'000;           ///< older frames are forgotten
    std::uint32_t frame_octets = 192;                   ///< of each frame, at most
};

/// The last frames, in a ring of octets: the oldest give way to the newest. Keeping a frame is a copy of its octets
/// behind a small header, and allocates nothing; memory that was never written to costs nothing. Comments are not kept.
/// Not thread-safe.
///
/// A frame's age is told by a clock of the recorder's own, which follows the frames' times and only goes forward, so
/// that no step of a clock makes frames old or keeps them for ever: each interface's time counts by what it advances; a
/// frame up to a second late changes nothing; a time further back is a clock that was set, and goes on from there.
class FlightRecorder {
public:
    /// Throws std::system_error where the memory is not to be had.
    explicit FlightRecorder(const FlightRecorderOptions& options);
    ~FlightRecorder();

    void keep(const wire::Frame& frame);

    /// Every frame still held, oldest first, of [from_ns, ...). The sink returns false to end. Views are valid during
    /// the call of the sink.
    void replay(std::int64_t from_ns, const std::function<bool(const wire::Frame&)>& sink) const;

    /// A place between two frames, in the order in which they were kept. Stays good while frames are kept, even where
    /// those behind it have gone.
    struct Position {
        std::uint64_t sequence = 0;  ///< frames kept before it, since the beginning
        std::uint64_t place = 0;     ///< grows by what a frame takes of the memory
        bool operator==(const Position& other) const { return sequence == other.sequence; }
    };
    Position oldest() const;  ///< before the oldest frame that is not forgotten
    Position end() const;     ///< behind the newest

    struct Kept {
        wire::Frame frame;           ///< its octets are valid until the next keep()
        std::uint64_t clock_ns = 0;  ///< clock_ns() as it was then
        std::uint64_t missed = 0;    ///< frames that gave way since the place asked for, just before this one
    };
    /// The frame behind `at`, which moves on; false where there is none. Frames older than before_ns are found as long
    /// as they have not given way.
    bool next(Position& at, Kept& kept) const;

    /// The recorder's own clock: 0 at the first frame.
    std::uint64_t clock_ns() const;

    struct Extent {
        std::uint64_t frames = 0;
        std::uint64_t octets = 0;       ///< of memory, headers among them
        std::int64_t first_ns = 0;      ///< of the oldest frame
        std::int64_t last_ns = 0;       ///< of the newest
        std::uint64_t overwritten = 0;  ///< frames younger than before_ns that had to go for lack of memory
    };
    Extent extent() const;
    std::size_t memory_octets() const;

private:
    struct Ring;
    std::unique_ptr<Ring> ring_;
};

}  // namespace capture::recorder
