#pragma once
#include <vector>

#include "tests/fuzz/fuzz_random.h"
#include "tests/support/captures.h"

namespace fuzz {

/// Damages a frame in one to four ways: octets and lengths changed, blocks cut out, repeated or spliced in from
/// `other`, the snap length or the link type changed.
void mutate_frame(support::KeptFrame& frame, const support::KeptFrame& other, Random& random);

/// What a network and a capture do to a row of frames: drop, repeat, reorder, cut, shift and split TCP segments; now
/// and then a frame is damaged as well.
void mutate_stream(std::vector<support::KeptFrame>& frames, Random& random);

}  // namespace fuzz
