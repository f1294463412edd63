#pragma once
#include <cstdint>

namespace control {

/// Which frames a client asks the daemon for.
enum class FramesOf : std::uint8_t {
    now,       ///< as they are captured from now on, without end
    recorder,  ///< those that the flight recorder holds
};

}  // namespace control
