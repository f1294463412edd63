#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace metrics::stream {

/// What tells in which order a sender made its segments: TSval (RFC 7323) and IPv4's identification, where its sender
/// counts it up.
struct SendOrder {
    std::uint32_t timestamp = 0;
    std::uint16_t identification = 0;
    bool has_timestamp = false;
    bool has_identification = false;

    /// Below zero: made before `other`; above: after it; 0: cannot be told.
    int compare(const SendOrder& other) const;
};

/// Octets that were not seen while later ones were.
struct Hole {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  ///< begin == end: unused
    std::int64_t noticed_ns = 0;
    SendOrder order;        ///< of the segment behind it; where repaired, of the segment that did it
    bool repaired = false;  ///< filled by what was sent again: what it repeats may still be on its way
};

/// The holes of one direction, from its first on until all is acknowledged: on a path that reorders there are many.
class Holes {
public:
    /// Where there is no place, one repaired or else the oldest is given up. Returns false for the latter.
    bool note(const Hole& hole);
    /// A hole (or a repaired one) that the octets from `begin` to `end` touch; nullptr where there is none.
    Hole* find(std::uint64_t begin, std::uint64_t end, bool repaired);
    /// The octets from `begin` to `end` are there now. Returns how many of them had been missing.
    std::uint64_t fill(Hole& hole, std::uint64_t begin, std::uint64_t end);
    /// Calls lost(octets) for each hole below `position`, which will not be filled any more.
    template <class Lost>
    void acknowledge(std::uint64_t position, Lost&& lost) {
        for (Hole& hole : holes_) {
            if (hole.begin == hole.end || hole.repaired || hole.begin >= position) continue;
            const std::uint64_t end = hole.end < position ? hole.end : position;
            const std::uint64_t octets = end - hole.begin;
            hole.begin = end;
            lost(octets);
        }
    }
    bool empty() const;

private:
    std::array<Hole, 32> holes_{};
};
static_assert(std::is_trivially_copyable_v<Holes>);

}  // namespace metrics::stream
