#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "replay/peer/message.h"
#include "replay/peer/steering.h"

namespace replay::inline peer {

/// One thing in which the live peer's answer is not the captured peer's.
struct Difference {
    std::uint64_t frame = 0;   ///< of the capture: where the message ended; 0 for one that the capture does not have
    std::string message = {};  ///< which
    std::string what = {};     ///< "CRC", "length", "3 bytes, from byte 12"
    std::string captured = {};
    std::string live = {};
};

/// Appends what differs between two messages of one place. `places`: bytes of the body that may differ. How a message
/// was cut into FPDUs is no difference, and neither is what a Terminate repeats of the message at fault: its error
/// counts.
void compare_messages(const Message& captured, const Message& live, const std::vector<SteeringPlace>& places,
                      std::vector<Difference>& out);

}  // namespace replay::peer
