#pragma once
#include <array>
#include <cstdint>
#include <type_traits>

#include "metrics/measure/iwarp/send_order.h"

namespace metrics::inline measure::iwarp {

/// Bytes that were not seen while later ones were.
struct Hole {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  ///< begin == end: unused
    std::int64_t noticed_ns = 0;
    SendOrder order;        ///< of the segment after it; if repaired, of the segment that did it
    bool repaired = false;  ///< filled by what was sent again: what it repeats may still be on its way
    /// How many segments are counted as missing for these bytes: at least one while there are bytes.
    std::uint32_t packets = 1;
    /// No hole in what passed: acknowledged, at `noticed_ns`, before any of it did. It may pass yet.
    bool acknowledged = false;

    bool open() const { return begin < end && !repaired && !acknowledged; }
};

/// The holes of one direction, from its first on until all is acknowledged: on a path that reorders there are many.
class Holes {
public:
    /// If there is no room, a repaired or acknowledged hole is given up, or else the oldest one; but not an open one
    /// for the sake of an acknowledged one. Returns false if an open hole was given up, or would have to be.
    bool note(const Hole& hole);
    /// A hole (or a repaired one) that the bytes from `begin` to `end` touch; nullptr if absent.
    Hole* find(std::uint64_t begin, std::uint64_t end, bool repaired);
    const Hole* find(std::uint64_t begin, std::uint64_t end, bool repaired) const;
    /// The same of what is acknowledged and has not passed.
    Hole* find_acknowledged(std::uint64_t begin, std::uint64_t end);
    /// Whether anything that has not passed was acknowledged within this time before `now_ns`.
    bool expect_acknowledged(std::int64_t now_ns, std::uint64_t within_ns) const;
    struct Filled {
        std::uint64_t bytes = 0;   ///< that had been missing
        std::int64_t packets = 0;  ///< no longer counted for the rest of the hole; below zero if it takes more
    };
    /// The bytes from `begin` to `end` are there now.
    Filled fill(Hole& hole, std::uint64_t begin, std::uint64_t end);
    /// Calls lost(bytes, packets, settled) for each hole below `position`, which will not be filled any more. `packets`
    /// is the number of segments that it will have been; the rest of the hole counts as that many fewer.
    template <class Lost>
    void acknowledge(std::uint64_t position, Lost&& lost) {
        for (Hole& hole : holes_) {
            if (!hole.open() || hole.begin >= position) continue;
            const std::uint64_t end = hole.end < position ? hole.end : position;
            const std::uint32_t before = hole.packets;
            const std::uint64_t bytes = end - hole.begin;
            const std::uint32_t packets = share(hole, bytes);
            hole.begin = end;
            hole.packets = hole.begin == hole.end ? 0 : packets < before ? before - packets : 1;
            lost(bytes, packets, before - hole.packets);
        }
    }
    bool empty() const;

private:
    /// How many of the hole's segments this number of its bytes takes.
    static std::uint32_t share(const Hole& hole, std::uint64_t bytes);

    std::array<Hole, 32> holes_{};
};
static_assert(std::is_trivially_copyable_v<Holes>);

}  // namespace metrics::measure::iwarp
