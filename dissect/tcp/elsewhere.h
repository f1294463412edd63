#pragma once
#include <cstdint>
#include <optional>

#include "dissect/tcp/sequence.h"

namespace dissect::tcp {

/// Tells a stream that goes on elsewhere (the capture lacks more of it than any window holds, or its ports have another
/// connection, neither the end of the one nor the beginning of the other having been captured) from segments astray.
class Elsewhere {
public:
    /// Of a segment that is not the next one: true where the stream goes on with it. `expected`: the next byte's
    /// sequence number; `acknowledged`: up to where its receiver has acknowledged, if that is known.
    bool takes(std::uint32_t sequence, std::uint32_t end, std::uint32_t expected,
               std::optional<std::uint32_t> acknowledged) {
        const std::int32_t ahead = distance(sequence, expected);
        const bool no_window = ahead > largest_window || ahead < -largest_window;
        // No sender sends again what was acknowledged so long ago, one segment after the other.
        const bool stale =
            distance(expected, end) > most_in_flight && acknowledged && distance(*acknowledged, end) > most_in_flight;
        if (!no_window && !stale) return false;
        run_ = sequence == next_ && expected == expected_ ? static_cast<std::uint8_t>(run_ + 1) : std::uint8_t{1};
        next_ = end;
        expected_ = expected;
        if (run_ < (no_window ? enough : enough_of_stale)) return false;
        run_ = 0;
        return true;
    }

private:
    static constexpr std::uint8_t enough = 4;
    static constexpr std::uint8_t enough_of_stale = 16;

    std::uint32_t next_ = 0;      ///< where the run goes on
    std::uint32_t expected_ = 0;  ///< while it lasted, nothing else has come
    std::uint8_t run_ = 0;        ///< segments in a row
};

}  // namespace dissect::tcp
