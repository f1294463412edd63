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

/// Where a frame's bytes have a meaning for what happens to it.
struct FramePlaces {
    std::size_t link_octets = 0;              ///< its link header: never corrupted, or it would go astray
    std::optional<std::size_t> network = {};  ///< where an IPv4 or IPv6 header begins that may be marked
};

struct FrameLineCounters {
    std::uint64_t frames = 0;  ///< that came
    std::uint64_t left = 0;    ///< that left: frames - lost + duplicated, once the line is empty
    std::uint64_t lost = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t corrupted = 0;
    std::uint64_t reordered = 0;  ///< held back and in fact overtaken
    std::uint64_t marked = 0;
    std::uint64_t not_markable = 0;  ///< drawn to be marked, but no IP, or its sender does not know ECN
};

/// What happens to frames on a way that is not what it should be: (frame, now) → which leave when. A pure function of
/// the settings, the seed and what was put in: no clock, no other randomness.
///
/// In this order: loss; marking; one bit corrupted; duplication (a whole copy right after); the rate, of the frame's
/// bytes as they are put in; the delay, and a jitter that is as likely to be anything from none to its most;
/// reordering (the frame is overtaken by one to three of those after it, or waits `longest_hold_ns` for them at most).
/// Frames that were not chosen to be reordered keep their order: a jitter cannot make one overtake another.
///
/// The draws for one impairment are the same whatever the others are set to.
class FrameLine {
public:
    static constexpr std::int64_t longest_hold_ns = 10'000'000;
    static constexpr std::size_t queue_octets = std::size_t{64} << 20;

    explicit FrameLine(const ImpairmentSettings& settings);

    /// A frame comes; `now_ns` never goes back. It is copied.
    void put(base::Bytes octets, const FramePlaces& places, std::int64_t now_ns);
    /// No more will come: what is held back to be overtaken leaves when it would have left.
    void end();

    /// Enough waits here: a caller that can wait puts nothing more in before some has left.
    bool full() const { return waiting_octets_ >= queue_octets; }
    bool empty() const { return queue_.empty() && held_.empty(); }
    /// When the next frame leaves; nothing where none waits.
    std::optional<std::int64_t> next_ns() const;

    struct Leaving {
        std::int64_t at_ns = 0;
        std::uint64_t number = 0;  ///< of the frame put in, from 1; a copy has its original's
        base::Bytes octets = {};   ///< valid until the next call
    };
    /// The next one that leaves at `now_ns` or before.
    std::optional<Leaving> take(std::int64_t now_ns);

    const FrameLineCounters& counters() const { return counters_; }

private:
    struct Waiting {
        std::int64_t leaves_ns = 0;
        std::uint64_t order = 0;  ///< among those of one time
        std::uint64_t number = 0;
        unsigned passes_wanted = 0;  ///< held: number of frames that are to leave first
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
    std::vector<std::vector<std::byte>> spare_;  ///< memory for frames to come
    std::vector<std::byte> leaving_;
    std::size_t waiting_octets_ = 0;
    FrameLineCounters counters_;
};

}  // namespace replay::impair
