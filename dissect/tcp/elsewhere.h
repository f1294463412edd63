#pragma once
#include <cstdint>
#include <optional>

#include "dissect/tcp/sequence.h"

namespace dissect::tcp {

/// Distinguishes a stream that continues elsewhere from stray segments. A stream continues elsewhere if the capture
/// lacks more of it than any window holds, or if its ports have another connection and neither the end of the old nor
/// the beginning of the new one was captured.
class Elsewhere {
public:
    /// For a segment that is not the next one: true if the stream continues with it. `expected`: the next byte's
    /// sequence number; `acknowledged`: the highest acknowledgement of its receiver, if that is known.
    bool takes(std::uint32_t sequence, std::uint32_t end, std::uint32_t expected,
               std::optional<std::uint32_t> acknowledged) {
        const std::int32_t ahead = distance(sequence, expected);
        const bool no_window = ahead > largest_window || ahead < -largest_window;
        // No sender repeats, segment after segment, what was acknowledged that long ago.
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

    std::uint32_t next_ = 0;      ///< where the run continues
    std::uint32_t expected_ = 0;  ///< during the run, nothing else has come
    std::uint8_t run_ = 0;        ///< segments in a row
};

}  // namespace dissect::tcp
