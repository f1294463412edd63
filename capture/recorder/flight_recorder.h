#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "wire/frame.h"

namespace capture::inline recorder {

struct FlightRecorderOptions {
    std::size_t memory_octets = std::size_t{64} << 20;  ///< all of the memory, reserved once; at least one frame's
    std::uint64_t before_ns = 10'000'000'000;           ///< older frames are forgotten
    std::uint32_t frame_octets = 192;                   ///< of each frame, at most
};

/// The last frames, in a ring of bytes: the newest replace the oldest. To keep a frame is to copy its bytes after a
/// small header, and allocates nothing; memory that was never written costs nothing. Comments are not kept. Not
/// thread-safe.
///
/// A frame's age is measured by a clock of the recorder, which follows the frames' times and only goes forward. No step
/// of a clock makes frames old or keeps them for ever. Each interface's time counts by its advance. A frame up to a
/// second late changes nothing. A time further back means that a clock was set; the recorder continues from there.
class FlightRecorder {
public:
    /// Throws std::system_error if the memory cannot be allocated.
    explicit FlightRecorder(const FlightRecorderOptions& options);
    ~FlightRecorder();

    void keep(const wire::Frame& frame);

    /// Every frame still held, oldest first, of [from_ns, ...). The sink returns false to end. Views are valid during
    /// the call of the sink.
    void replay(std::int64_t from_ns, const std::function<bool(const wire::Frame&)>& sink) const;

    /// A place between two frames, in the order in which they were kept. Remains valid while frames are kept, even
    /// after the frames that follow it have been replaced.
    struct Position {
        std::uint64_t sequence = 0;  ///< frames kept before it, since the beginning
        std::uint64_t place = 0;     ///< grows by the memory that a frame takes
        bool operator==(const Position& other) const { return sequence == other.sequence; }
    };
    Position oldest() const;  ///< before the oldest frame that is not forgotten
    Position end() const;     ///< after the newest

    struct Kept {
        wire::Frame frame;           ///< its bytes are valid until the next keep()
        std::uint64_t clock_ns = 0;  ///< clock_ns() as it was then
        std::uint64_t missed = 0;    ///< frames that were replaced since the requested place, just before this one
    };
    /// The frame after `at`, which moves on; false if absent. Frames older than before_ns are found until they
    /// are replaced.
    bool next(Position& at, Kept& kept) const;

    /// The recorder's own clock: 0 at the first frame.
    std::uint64_t clock_ns() const;

    struct Extent {
        std::uint64_t frames = 0;
        std::uint64_t octets = 0;       ///< of memory, headers among them
        std::int64_t first_ns = 0;      ///< of the oldest frame
        std::int64_t last_ns = 0;       ///< of the newest
        std::uint64_t overwritten = 0;  ///< frames younger than before_ns that were replaced for lack of memory
    };
    Extent extent() const;
    std::size_t memory_octets() const;

private:
    struct Ring;
    std::unique_ptr<Ring> ring_;
};

}  // namespace capture::recorder
