#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "metrics/figures/histogram.h"
#include "metrics/measure/hosts/frame_print.h"

namespace metrics::inline measure::inline hosts {

/// Recognises captures that hold each packet several times on one interface: two captures merged into one, `any` on a
/// bond, a port mirrored on both ways. A network that doubles packets doubles some of them, or one direction: there is
/// a copy of (nearly) each packet of both directions where the capture made them.
///
/// A sender that counts IPv4's identification up gives a repeat another one, so equal packets are copies. Of other
/// packets only the number says which are copies: of each n that are equal, n - 1 are copies.
class FrameCopies {
public:
    /// Decides by the first frames of a capture.
    void learn(std::span<const FramePrint> prints);
    /// Whether a frame is one of the few by which a later beginning of the copies is noticed, as when the second of two
    /// merged captures began later. Only identified packets are.
    bool samples(std::uint32_t identification, std::uint32_t position) const {
        constexpr std::uint32_t odd = 0x9e3779b1;
        constexpr std::uint32_t odd_as_well = 0x85ebca6b;
        return identification != 0 && (position * odd + identification * odd_as_well) >> 28 == 0 && !on_;
    }
    /// Of a sampled frame.
    void watch(const FramePrint& print);
    /// The capture holds copies: is_copy() must be asked about each frame.
    bool is_on() const { return on_; }
    /// Whether the packet was met before, within a second.
    bool is_copy(const FramePrint& print);

    std::uint64_t copies() const { return copies_; }
    std::uint64_t elsewhere() const { return elsewhere_; }  ///< copies with another hop limit or other MAC addresses
    const Histogram& distance_ns() const { return distance_ns_; }
    std::size_t octets() const;

private:
    /// How the packets between two hosts are captured.
    struct Pair {
        std::uint32_t times = 0;  ///< each; 0 = equal packets are copies only if they are numbered
        std::array<bool, 2> numbered{true, true};
        bool copied = true;
    };
    struct Met {
        std::uint64_t packet = 0;
        std::int64_t time_ns = 0;
        std::uint32_t times = 0;  ///< 0: unused
        std::uint16_t place = 0;
    };
    /// A frame that is watched.
    struct Seen {
        std::uint64_t packet = 0;
        std::int64_t time_ns = 0;
    };
    /// Of one direction of the frames watched.
    struct Watched {
        std::uint32_t firsts = 0;
        std::uint32_t again = 0;
        std::uint32_t numbered = 0;
        std::uint16_t identification = 0;
    };

    void turn_on();
    Met& place_of(const FramePrint& print);
    bool is_short_of_places(const Met& given_up, const FramePrint& print) const;
    void grow();
    void judge_watched();

    bool on_ = false;
    Pair others_;  ///< of pairs that were not seen at the beginning
    std::unordered_map<std::uint32_t, Pair> pairs_;
    std::vector<Met> met_;
    std::vector<Seen> watched_frames_;
    std::array<Watched, 2> watched_;
    std::uint32_t watched_count_ = 0;
    std::uint64_t copies_ = 0;
    std::uint64_t elsewhere_ = 0;
    Histogram distance_ns_;
    std::optional<std::uint64_t> lag_ns_;  ///< of the last copy
};

}  // namespace metrics::measure::hosts
