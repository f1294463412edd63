#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "capture/source.h"
#include "capture/writer.h"
#include "wire/frame.h"

namespace capture {

struct FlightRecorderOptions {
    std::size_t memory_octets = std::size_t{64} << 20;  ///< the whole of it, allocated once
    std::uint64_t before_ns = 10'000'000'000;           ///< older frames are forgotten
    std::uint32_t frame_octets = 192;                   ///< of each frame, at most
};

/// The last frames, in a ring of octets: the oldest give way to the newest. Keeping a frame is a copy of its octets
/// behind a small header, and allocates nothing. Not thread-safe.
class FlightRecorder {
public:
    explicit FlightRecorder(const FlightRecorderOptions& options);
    ~FlightRecorder();

    void keep(const wire::Frame& frame);

    /// Every frame still held, oldest first, of [from_ns, ...). The sink returns false to end. Views are valid during
    /// the call of the sink.
    void replay(std::int64_t from_ns, const std::function<bool(const wire::Frame&)>& sink) const;

    struct Extent {
        std::uint64_t frames = 0;
        std::uint64_t octets = 0;
        std::int64_t first_ns = 0;
        std::int64_t last_ns = 0;
        std::uint64_t overwritten = 0;  ///< frames younger than before_ns that had to go for lack of memory
    };
    Extent extent() const;
    std::size_t memory_octets() const;

private:
    struct Ring;
    std::unique_ptr<Ring> ring_;
};

}  // namespace capture
