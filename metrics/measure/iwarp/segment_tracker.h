#pragma once
#include "metrics/measure/iwarp/receiver.h"
#include "metrics/measure/iwarp/sender.h"

namespace metrics::inline measure::iwarp {

/// Passes a segment to the receiver of the opposite direction, whose acknowledgement it carries, and to the sender of
/// its own direction, whose data it carries.
class SegmentTracker {
public:
    explicit SegmentTracker(FlowStore& store);
    SegmentTracker(const SegmentTracker&) = delete;
    SegmentTracker& operator=(const SegmentTracker&) = delete;

    /// A segment of `half`. `back` is the opposite direction, or nothing.
    void segment(const Half& half, const Half& back, const Segment& segment);
    /// According to the dissector, the receiver dropped the segment, or an FPDU of it although TCP's checksum is right.
    void dropped(const Half& half, std::uint64_t frame, bool checksum_right) {
        sender_.dropped(half, frame, checksum_right);
    }
    void forget(Direction& direction);
    std::size_t octets() const { return holes_.octets(); }
    Receiver& receiver() { return receiver_; }

private:
    bool common(const Half& half, const Half& back, const Segment& segment);
    void acknowledgement(const Half& half, const Segment& segment);

    FlowStore& store_;
    HoleTable holes_;
    Receiver receiver_;
    Sender sender_;
};

}  // namespace metrics::measure::iwarp
