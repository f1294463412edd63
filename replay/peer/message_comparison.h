#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "replay/peer/message.h"
#include "replay/peer/steering.h"

namespace replay::inline peer {

/// One difference between the live peer's answer and the captured peer's.
struct Difference {
    std::uint64_t frame = 0;   ///< of the capture, where the message ended; 0 if the capture does not have the message
    std::string message = {};  ///< which
    std::string what = {};     ///< "CRC", "length", "3 bytes, from byte 12"
    std::string captured = {};
    std::string live = {};
};

/// Appends the differences between two messages of the same place. `places`: bytes of the body that may differ. The
/// division of a message into FPDUs does not count, nor what a Terminate repeats of the message at fault: its error
/// counts.
void compare_messages(const Message& captured, const Message& live, const std::vector<SteeringPlace>& places,
                      std::vector<Difference>& out);

}  // namespace replay::peer
