#pragma once
#include "metrics/measure/iwarp/receiver_inline.h"
#include "metrics/measure/iwarp/segment_tracker.h"
#include "metrics/measure/iwarp/sender_inline.h"

/// The functions of SegmentTracker that every segment needs, in a header so that the compiler can inline them.
namespace metrics::inline measure::iwarp {

/// The commonest segment says nothing new about the opposite direction, and Sender::common() handles it.
[[gnu::always_inline]] inline bool SegmentTracker::common(const Half& half, const Half& back, const Segment& segment) {
    constexpr std::uint8_t relevant = tcp_fin | tcp_syn | tcp_rst | tcp_ack | tcp_ece | tcp_cwr;
    Segment::Plain plain;
    if (!back || (segment.tcp().flags & relevant) != tcp_ack || !segment.read_plain(plain) || !store_.options.shortcut)
        return false;
    return receiver_.is_unchanged(back, segment) && sender_.common(half, back, segment, plain);
}

inline void SegmentTracker::acknowledgement(const Half& half, const Segment& segment) {
    const RequestState& request = half.request();
    if (!segment.has(tcp_ack) || segment.has(tcp_rst) || segment.has(tcp_syn)) return;
    if (segment.has(tcp_ece)) receiver_.congested(half, segment.now_ns());
    if (request.next == 0) return;
    const std::int32_t ahead = ahead_of(request.next, segment.tcp().acknowledgment);
    const std::uint64_t position = position_of(request.next, segment.tcp().acknowledgment);
    if (ahead > largest_window || ahead < -largest_window) return;
    if (ahead > 0 && !sender_.acknowledged_unseen(half, segment, static_cast<std::uint32_t>(ahead))) return;
    if (position > request.acknowledged && half.sent().holes != Flow::no_block)
        sender_.acknowledged_holes(half, position, segment.frame.number, segment.now_ns());
    receiver_.acknowledged(half, segment, position);
}

[[gnu::always_inline]] inline void SegmentTracker::segment(const Half& half, const Half& back, const Segment& segment) {
    if (common(half, back, segment)) return;
    if (back) acknowledgement(back, segment);
    sender_.segment(half, back, segment);
}

}  // namespace metrics::measure::iwarp
