#pragma once
#include <cstdint>
#include <optional>

#include "metrics/measure/iwarp/half.h"
#include "metrics/measure/iwarp/hole_table.h"
#include "metrics/measure/iwarp/receiver.h"
#include "metrics/measure/iwarp/tcp_segment.h"

namespace metrics::inline measure::iwarp {

/// TCP as the sender of a direction uses it: which bytes are new, sent again, late or doubled, and what the gap before
/// them was. What the receiver has said by then is in Direction::received. RFC 9293, 5681, 6298, 6675.
class Sender {
public:
    Sender(FlowStore& store, HoleTable& holes, Receiver& receiver)
        : store_(store), holes_(holes), receiver_(receiver) {}

    /// A segment of `half`; Receiver has handled its acknowledgement (of `back`, which may be nothing) before.
    void segment(const Half& half, const Half& back, const Segment& segment);
    /// The commonest segment, with all that segment() would do to it; false, with nothing done, if it is another one.
    /// It carries one FPDU of a Send or a Write, in order, and says nothing new about `back`.
    bool common(const Half& half, const Half& back, const Segment& segment, const Segment::Plain& plain);
    /// The receiver acknowledges `bytes` bytes that have not passed. False if the segment is not plausible.
    bool acknowledged_unseen(const Half& half, const Segment& segment, std::uint32_t bytes);
    /// The receiver has everything before `position`: the holes there were not lost before the capture point, but by
    /// the capture.
    void acknowledged_holes(const Half& half, std::uint64_t position, std::uint64_t frame, std::int64_t now_ns);
    /// According to the dissector, the receiver dropped the segment. `checksum_right`: TCP's checksum is right, so that
    /// the bytes are those that the sender's TCP summed.
    void dropped(const Half& half, std::uint64_t frame, bool checksum_right);

private:
    /// A segment with payload, and where it lies.
    struct Arrival {
        const Segment& segment;
        std::uint64_t begin;
        std::uint64_t end;
        std::optional<std::uint32_t> timestamp;
        std::optional<std::uint16_t> identification;

        std::int64_t now_ns() const { return segment.now_ns(); }
        std::uint64_t frame() const { return segment.frame.number; }
        SendOrder order(const SentData& sent) const { return sent.order.order_of(timestamp, identification); }
    };

    void reset(const Half& half, const Half& back, const Segment& segment);
    void finish(const Half& half, const Half& back, const Segment& segment);
    void payload(const Half& half, const Half& back, const Segment& segment);
    void any_payload(const Half& half, const Half& back, const Segment& segment);
    static bool is_trusted(SentData& sent, const Segment& segment);
    static void begin(const Half& half, const Segment& segment);
    // New data.
    void fresh(const Half& half, const Half& back, const Arrival& arrival);
    static void new_data(const Half& half, const Arrival& arrival);
    void passed(const Half& half, const Arrival& arrival);
    void note_hole(const Half& half, const Arrival& arrival, std::uint64_t begin, std::uint64_t end);
    // Data that was sent before, or late.
    bool past_data(const Half& half, const Arrival& arrival, Situation& situation);
    bool is_late(const Half& half, const Hole& hole, const Arrival& arrival) const;
    static bool is_doubled(const Half& half, const Arrival& arrival);
    bool is_probe(const Half& half, const Arrival& arrival);
    void overtaken(const Half& half, const Arrival& arrival);
    void count_repeat(const Half& half, const Arrival& arrival);
    void sent_again(const Half& half, const Arrival& arrival, std::int64_t hole_ns, Situation& situation);
    static void observe_repair(ObservedFlows& observed, const Half& half, const Arrival& arrival, std::int64_t hole_ns,
                               Repair repair);
    // Data that was acknowledged before it passed.
    bool answered_early(const Half& half, const Half& back, const Arrival& arrival);
    void note_answered(const Half& half, std::uint64_t begin, std::uint64_t end, std::uint32_t packets,
                       std::int64_t now_ns);
    void unseen(const Half& half, std::uint32_t packets, std::uint64_t frame);
    static std::uint32_t segments_of(const Direction& direction, std::uint32_t length, std::uint64_t bytes);
    static void subtract_missing(RequestState& request, std::int64_t packets);
    // The gap before a segment.
    void close_gap(const Half& half, const Half& back, const Arrival& arrival, Situation& situation);
    void close_by_rules(const Half& half, const Half& back, const Segment& segment, bool mid_message);
    bool closed_at_once(const Half& half, const Half& back, const Segment& segment, bool mid_message,
                        std::int64_t credit_freed_ns);
    // Positions.
    void jump(const Half& half, const Segment& segment);
    void move_back(const Half& half);
    void forget_positions(const Half& half);

    FlowStore& store_;
    HoleTable& holes_;
    Receiver& receiver_;
};

}  // namespace metrics::measure::iwarp
