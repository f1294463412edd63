#pragma once
#include <cstdint>
#include <deque>

namespace history {

/// The present time, by a clock that may step. Removed data cannot be restored. Therefore a clock that has jumped ahead
/// is believed only after it has stayed there for an hour of intervals, or for an eighth of the relevant age if that is
/// less. A clock that has jumped back makes nothing older.
class Ageing {
public:
    void add(std::int64_t start_ns, std::uint64_t length_ns, std::uint64_t max_age_ns);
    /// The earliest recent time; data is no older than this time says.
    std::int64_t now_ns() const;

private:
    struct Interval {
        std::int64_t start_ns;
        std::uint64_t length_ns;
    };
    std::deque<Interval> lately_;
    std::uint64_t covered_ns_ = 0;
};

}  // namespace history
