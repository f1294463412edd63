#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "metrics/measure/account/attribution.h"
#include "metrics/measure/iwarp/tcp_segment.h"

namespace metrics::inline measure::iwarp {

/// The window that the receiver of a direction advertises: how far its sender may send, since when, and for how long it
/// was too small. RFC 9293, 3.8.6; RFC 7323, 2.
class ReceiveWindow {
public:
    /// The shift of the receiver's windows; absent: the SYNs were not captured.
    void set_scale(std::optional<std::uint8_t> scale) { scale_ = scale.value_or(unknown_scale); }
    /// Whether the field of the TCP header is the one that was advertised last.
    bool is_same(std::uint32_t raw) const { return raw == raw_; }
    /// Whether an acknowledgement of `position` with that field changes nothing.
    bool keeps(std::uint32_t raw, std::uint64_t position) const {
        return raw == raw_ && raw != 0 && scale_ != unknown_scale && edge_ == position + (raw << scale_) &&
               edge_ <= reaches_[0].edge;
    }
    /// An acknowledgement of `position` advertises a window. `way_ns` returns the least time from the tap to the sender
    /// and back, 0 if that is not known.
    template <class Way>
    void advertise(std::uint32_t raw, std::uint64_t position, std::int64_t now_ns, Way&& way_ns) {
        raw_ = raw;
        if (raw == 0) ++zero_windows_;
        if (scale_ == unknown_scale) {
            edge_ = raw == 0 ? position : 0;
        } else {
            const std::uint32_t bytes = raw << scale_;
            min_ = std::min(min_, bytes);
            max_ = std::max(max_, bytes);
            edge_ = position + bytes;
        }
        note_reach(now_ns, way_ns);
    }
    /// Whether data up to `end` is not held back, nor was any since the last watch().
    bool has_room(std::uint64_t end) const { return (edge_ == 0 || edge_ > end) && limited_since_ns_ == never; }
    /// Whether data up to `end` does not fit.
    bool holds_back(std::uint64_t end) const { return edge_ != 0 && edge_ < end; }
    /// Adds up the time in which data up to `end`, which the sender would send next, does not fit.
    void watch(std::uint64_t end, std::int64_t now_ns) {
        const bool limited = holds_back(end);
        if (limited_since_ns_ != never) {
            const std::uint64_t limited_ns = elapsed(limited_since_ns_, now_ns);
            limited_ns_ += limited_ns;
            limited_in_gap_ns_ += limited_ns;
        } else if (!limited) {
            return;
        }
        limited_since_ns_ = limited ? now_ns : never;
    }
    /// Of the time that watch() added up, what fell into the present gap between two data segments.
    std::uint64_t limited_in_gap_ns() const { return limited_in_gap_ns_; }
    void begin_gap() { limited_in_gap_ns_ = 0; }
    /// All of the time up to `now_ns`.
    std::uint64_t limited_ns(std::int64_t now_ns) const {
        return limited_ns_ + (limited_since_ns_ == never ? 0 : elapsed(limited_since_ns_, now_ns));
    }
    /// When the window first held data up to `end`, if the window was too small before and that may be why the data is
    /// sent now; else `Situation::never`. `last_ns`: when the data before it passed. `way_ns` as for advertise().
    template <class Way>
    std::int64_t admitted_ns(std::uint64_t end, std::int64_t last_ns, std::int64_t now_ns, Way&& way_ns) const {
        if (reaches_.back().edge >= end) return never;  // as all of them, which are younger
        for (std::size_t i = 0; i + 1 < reaches_.size() && reaches_[i].edge >= end; ++i) {
            if (reaches_[i + 1].edge == 0) break;
            if (reaches_[i + 1].edge >= end) continue;
            const std::uint64_t reaction_ns = way_ns();
            if (reaches_[i].since_ns >= last_ns) return reaches_[i].since_ns;
            // It was on its way to the sender when the segment before this one passed.
            return elapsed(reaches_[i].since_ns, now_ns) <= reaction_ns + reaction_ns / 4 ? last_ns : never;
        }
        return never;
    }

    /// The sequence goes on far away.
    void lose() {
        edge_ = 0;
        reaches_ = {};
    }
    /// Positions are lower by `by` from here on.
    void move_back(std::uint64_t by) {
        reaches_ = {};
        edge_ = edge_ > by ? edge_ - by : 0;
    }

    struct Range {
        std::uint32_t min = 0;
        std::uint32_t max = 0;
    };
    /// The smallest and the largest window in bytes; absent if none was advertised whose scale is known.
    std::optional<Range> range() const {
        if (min_ > max_) return std::nullopt;
        return Range{min_, max_};
    }
    std::uint32_t zero_windows() const { return zero_windows_; }

private:
    static constexpr std::int64_t never = Situation::never;
    static constexpr std::uint8_t unknown_scale = 0xff;
    /// How far the window reached from some time on.
    struct Reach {
        std::uint64_t edge = 0;
        std::int64_t since_ns = never;
    };

    /// Segments are admitted by what passed the tap a round trip to the sender ago. That much is kept, an eighth a
    /// time.
    template <class Way>
    void note_reach(std::int64_t now_ns, Way&& way_ns) {
        if (edge_ <= reaches_[0].edge) return;
        if (reaches_[0].edge == 0 || elapsed(reaches_[0].since_ns, now_ns) >= way_ns() / 8) {
            std::copy_backward(reaches_.begin(), reaches_.end() - 1, reaches_.end());
            reaches_[0].since_ns = now_ns;
        }
        reaches_[0].edge = edge_;
    }

    std::uint32_t raw_ = 0;  ///< advertised last, as in the header
    std::uint32_t min_ = 0xffffffff;
    std::uint32_t max_ = 0;
    std::uint32_t zero_windows_ = 0;
    std::uint64_t edge_ = 0;          ///< position up to which may be sent; 0 = not known
    std::array<Reach, 8> reaches_{};  ///< the newest first
    std::int64_t limited_since_ns_ = never;
    std::uint64_t limited_ns_ = 0;
    std::uint64_t limited_in_gap_ns_ = 0;
    std::uint8_t scale_ = unknown_scale;
};

}  // namespace metrics::measure::iwarp
