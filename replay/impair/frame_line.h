#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "replay/impair/impairment_settings.h"
#include "replay/impair/pace.h"
#include "replay/impair/random.h"

namespace replay::inline impair {

/// The places in a frame that impairments depend on.
struct FramePlaces {
    std::size_t link_octets = 0;              ///< its link header: never corrupted, because the frame would not arrive
    std::optional<std::size_t> network = {};  ///< the beginning of an IPv4 or IPv6 header that may be marked
};

struct FrameLineCounters {
    std::uint64_t frames = 0;  ///< that came
    std::uint64_t left = 0;    ///< that left: frames - lost + duplicated, once the line is empty
    std::uint64_t lost = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t corrupted = 0;
    std::uint64_t reordered = 0;  ///< held back, and overtaken
    std::uint64_t marked = 0;
    std::uint64_t not_markable = 0;  ///< chosen for a mark, but without IP, or its sender does not support ECN
};

/// Impairs frames: (frame, now) → which frames leave when. A pure function of the settings, the seed and the input: no
/// clock, no other randomness.
///
/// In this order: loss; marking; one bit corrupted; duplication (a whole copy right after); the rate, of the frame's
/// bytes as they were put in; the delay, and a jitter that is uniform from none to its maximum; reordering (the frame
/// is overtaken by one to three of those after it, or waits `longest_hold_ns` for them at most). Frames that were not
/// chosen for reordering keep their order: a jitter cannot make one overtake another.
///
/// The random draws for one impairment do not depend on the settings of the others.
class FrameLine {
public:
    static constexpr std::int64_t longest_hold_ns = 10'000'000;
    static constexpr std::size_t queue_octets = std::size_t{64} << 20;

    explicit FrameLine(const ImpairmentSettings& settings);

    /// Puts a frame in; `now_ns` never goes back. The frame is copied.
    void put(base::Bytes octets, const FramePlaces& places, std::int64_t now_ns);
    /// No more frames will come: a frame that is held back leaves at its normal time.
    void end();

    /// The line holds enough: a caller that can wait puts in nothing more before some has left.
    bool full() const { return waiting_octets_ >= queue_octets; }
    bool empty() const { return queue_.empty() && held_.empty(); }
    /// When the next frame leaves; no value if none waits.
    std::optional<std::int64_t> next_ns() const;

    struct Leaving {
        std::int64_t at_ns = 0;
        std::uint64_t number = 0;  ///< of the frame put in, from 1; a copy has the number of its original
        base::Bytes octets = {};   ///< valid until the next call
    };
    /// The next one that leaves at `now_ns` or before.
    std::optional<Leaving> take(std::int64_t now_ns);

    const FrameLineCounters& counters() const { return counters_; }

private:
    struct Waiting {
        std::int64_t leaves_ns = 0;
        std::uint64_t order = 0;  ///< among those with the same time
        std::uint64_t number = 0;
        unsigned passes_wanted = 0;  ///< held: the number of frames that leave first
        bool overtaken = false;
        std::vector<std::byte> octets = {};
    };
    static bool later(const Waiting& a, const Waiting& b) {
        return a.leaves_ns != b.leaves_ns ? a.leaves_ns > b.leaves_ns : a.order > b.order;
    }

    Waiting copy_of(base::Bytes octets, std::uint64_t number);
    void mark(std::vector<std::byte>& octets, const FramePlaces& places);
    void corrupt(std::vector<std::byte>& octets, const FramePlaces& places);
    void schedule(Waiting frame, std::int64_t now_ns, bool hold);
    void queue(Waiting frame);
    void release_held(std::int64_t by_ns);
    void overtake(std::int64_t at_ns);
    void recycle(std::vector<std::byte> octets);

    ImpairmentSettings settings_;
    Random loss_, duplicate_, corrupt_, place_, mark_, jitter_, reorder_, distance_;
    Pace pace_;
    std::int64_t last_leaves_ns_ = INT64_MIN;
    std::uint64_t order_ = 0;
    std::vector<Waiting> queue_;  ///< a heap, the next one to leave on top
    std::vector<Waiting> held_;
    std::vector<std::vector<std::byte>> spare_;  ///< memory for later frames
    std::vector<std::byte> leaving_;
    std::size_t waiting_octets_ = 0;
    FrameLineCounters counters_;
};

}  // namespace replay::impair
