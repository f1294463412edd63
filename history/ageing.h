#pragma once
#include <cstdint>
#include <deque>

namespace history {

/// Which time it is, as far as a clock can be believed that may step. Removing data cannot be taken back: a clock that
/// has jumped ahead is believed when it has stayed there for an hour of intervals, or an eighth of the age that
/// matters where that is less; one that has jumped back makes nothing older.
class Ageing {
public:
    void add(std::int64_t start_ns, std::uint64_t length_ns, std::uint64_t max_age_ns);
    /// The earliest time that was said lately; nothing is older than that says.
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
