#pragma once
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>

#include "daemon/http/past.h"

namespace service::http {

/// A stretch of history that is read in pieces, one for each request.
struct PastReading {
    TimeRange range;
    Past past;
    bool is_whole = false;      ///< nothing is left to read
    bool is_in_pieces = false;  ///< one request did not suffice
    std::int64_t used_ns = 0;
};

/// The readings between two requests. Their number is bounded: each one holds the sums of many flows. A reading that
/// goes on keeps its place, so that several clients come to an end. Times are of a clock that is never set.
class PastReadings {
public:
    static constexpr std::size_t most_readings = 4;
    /// A client that does not ask for so long has left, if its place is needed.
    static constexpr std::int64_t patience_ns = 10'000'000'000;
    static constexpr std::int64_t longest_pause_ns = 60'000'000'000;

    explicit PastReadings(std::uint64_t interval_ns) : interval_ns_(interval_ns) {}

    /// Takes the reading of this range out of the list, or begins another one. No value: there is no place, because
    /// others go on.
    std::optional<PastReading> take(TimeRange range, std::int64_t now_ns);
    /// Keeps the reading for the next request.
    void keep(PastReading&& reading, std::int64_t now_ns);
    void forget_unused(std::int64_t now_ns);

private:
    std::uint64_t interval_ns_;
    std::list<PastReading> readings_ = {};
};

}  // namespace service::http
