#pragma once
#include <cstdint>
#include <vector>

#include "tests/support/captures.h"

namespace fuzz {

/// SplitMix64: the same numbers from the same seed on every machine.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next();
    /// In [0, bound); bound is not 0.
    std::size_t below(std::size_t bound) { return static_cast<std::size_t>(next() % bound); }
    bool one_in(unsigned chances) { return below(chances) == 0; }

private:
    std::uint64_t state_;
};

/// Damages a frame in one to four ways: octets and lengths changed, blocks cut out, repeated or spliced in from
/// `other`, the snap length or the link type changed.
void mutate_frame(support::KeptFrame& frame, const support::KeptFrame& other, Random& random);

/// What a network and a capture do to a row of frames: drop, repeat, reorder, cut, shift and split TCP segments; now
/// and then a frame is damaged as well.
void mutate_stream(std::vector<support::KeptFrame>& frames, Random& random);

}  // namespace fuzz
