#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace metrics::inline measure::inline hosts {

/// Recognises a frame that passed on another interface shortly before. With one interface this costs next to nothing:
/// the last few frames are kept in case a second interface appears.
///
/// Equal frames may pass each interface as often as they passed any other interface; only a further one counts as new.
/// Exact for the last `frames_max` frames that are not copies, within a second; the oldest are dropped.
class RepeatedFrames {
public:
    /// The identity of a frame. Hashed only once there are two interfaces.
    struct Marks {
        std::uint64_t addresses = 0;
        std::uint64_t first = 0;
        std::uint64_t second = 0;
    };
    /// 1.8 ms of the smallest packets at 100 Gbit/s: more than a path takes, and than clocks should be apart.
    static constexpr std::size_t frames_max = std::size_t{1} << 18;

    /// True where the frame of these marks was met on another interface within a second, before or after by the clock.
    bool note(const Marks& marks, std::uint64_t interface, std::int64_t time_ns) {
        if (note_on_only(marks, interface, time_ns)) [[likely]]
            return false;
        return note_on_another(marks, interface, time_ns);
    }
    /// The same if all frames so far came on one interface; otherwise returns false and does nothing.
    bool note_on_only(const Marks& marks, std::uint64_t interface, std::int64_t time_ns) {
        if (interface != only_interface_) return false;
        recent_[next_++ & recent_mask_] = {marks, time_ns};
        return true;
    }
    /// The capture has several interfaces: keeps more frames of the first one, as many as may be on their way when the
    /// second one appears.
    void expect_others();
    std::size_t octets() const;

private:
    static constexpr std::uint64_t none = ~std::uint64_t{0};
    static constexpr std::size_t recent_usual = 256;
    static constexpr std::size_t recent_expecting = frames_max / 2;
    static constexpr std::size_t size_at_first = std::size_t{1} << 14;
    static constexpr unsigned interfaces_max = 4;

    struct Recent {
        Marks marks;
        std::int64_t time_ns = 0;
    };
    /// Equal frames: how many passed, and how many of these have yet to pass each interface.
    struct Passing {
        std::uint64_t fingerprint = 0;  ///< 0: none
        std::int64_t since_ns = 0;
        std::uint32_t back = 0;      ///< places to the next older one of its chain; 0 for the oldest
        std::uint16_t passages = 0;  ///< since then
        std::uint16_t earlier = 0;   ///< in the half second before
        std::array<std::uint32_t, interfaces_max> interfaces{};  ///< 0: none
        std::array<std::uint16_t, interfaces_max> behind{};

        bool renew(std::int64_t now_ns);
        bool pass(std::uint32_t interface);
    };

    bool note_on_another(const Marks& marks, std::uint64_t interface, std::int64_t time_ns);
    static std::uint64_t hash_of(const Marks& marks);
    static std::uint32_t name_of(std::uint64_t interface);
    void begin();
    bool met(std::uint64_t fingerprint, std::uint32_t interface, std::int64_t time_ns);
    Passing* find(std::uint64_t fingerprint);
    void append(const Passing& passing, std::int64_t now_ns);
    void grow();
    std::size_t mask() const { return ring_.size() - 1; }
    std::uint32_t& head_of(std::uint64_t fingerprint) { return heads_[fingerprint >> 40 & mask()]; }

    std::vector<Recent> recent_ = std::vector<Recent>(recent_usual);
    std::size_t recent_mask_ = recent_usual - 1;
    std::size_t next_ = 0;
    std::uint64_t only_interface_ = none;  ///< that was seen so far
    // In the order of arrival, cyclically; chains of equal hashes lead from the newest to older ones, and end where an
    // entry was overwritten. As in deflate's windows, entries are never removed.
    std::vector<Passing> ring_;
    std::vector<std::uint32_t> heads_;  ///< by hash: place of the newest, not reduced to the ring's size
    std::uint32_t place_ = 0;           ///< of the next one
};

}  // namespace metrics::measure::hosts
