#pragma once
#include <algorithm>

#include "metrics/flow/flow_store.h"
#include "metrics/stream/direction.h"
#include "metrics/stream/segment.h"

namespace metrics::stream {

/// One direction of a connection, taken at hand for the time of a call.
struct Half {
    FlowIndex index = no_flow;
    Flow* flow = nullptr;
    Direction* direction = nullptr;

    explicit operator bool() const { return direction != nullptr; }
    RequestState& request() const { return flow->request; }
};

/// TCP as the sender of a direction uses it: which octets are new, sent again, late or doubled, and what the gap before
/// them was. RFC 9293, 5681, 6298, 6675.
class Sender {
public:
    explicit Sender(FlowStore& store);

    /// The commonest segment, with all that segment() and acknowledged() would do to it; false, with nothing done,
    /// where it is another. It carries one FPDU of a Send or a Write, in order, and nothing new of what `back` has
    /// sent.
    bool common(const Half& half, const Half& back, const Segment& segment);
    /// A segment of `half`; its acknowledgement has been told to `back` (which may be nothing) before.
    void segment(const Half& half, const Half& back, const Segment& segment);
    /// A segment of `back` acknowledges what `half` sent.
    void acknowledged(const Half& half, const Segment& segment);
    /// The dissector knows that the receiver dropped the segment.
    void dropped(const Half& half, std::uint64_t frame);
    void forget(Direction& direction);
    std::size_t octets() const { return holes_.octets(); }
    /// Everything up to `position` is with the receiver; `measure` where the present frame says so.
    void complete(const Half& half, std::uint64_t position, std::int64_t now_ns, bool measure);
    void record_write(const Half& half, Operation operation);

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
    };

    void reset(const Half& half, const Half& back, const Segment& segment);
    void finish(const Half& half, const Half& back, const Segment& segment);
    void payload(const Half& half, const Half& back, const Segment& segment);
    void any_payload(const Half& half, const Half& back, const Segment& segment);
    void fresh(const Half& half, const Half& back, const Arrival& arrival);
    void passed(const Half& half, const Arrival& arrival);
    static void remember_print(Direction& direction, const SegmentPrint& print) {
        direction.prints[direction.print_next++ % direction.prints.size()] = print;
    }
    bool trusted(Direction& direction, const Segment& segment) const;
    void begin(const Half& half, const Segment& segment);
    void new_data(const Half& half, const Arrival& arrival);
    bool past_data(const Half& half, const Arrival& arrival, Situation& situation);
    void sent_again(const Half& half, const Arrival& arrival, std::int64_t hole_ns, Situation& situation);
    void watch_repair(const Half& half, const Arrival& arrival, std::int64_t hole_ns, Repair repair);
    void repeats(const Half& half, const Arrival& arrival);
    bool answered_early(const Half& half, const Half& back, const Arrival& arrival);
    void note_answered(const Half& half, std::uint64_t begin, std::uint64_t end, std::uint32_t packets,
                       std::int64_t now_ns);
    bool probes(const Half& half, const Arrival& arrival);
    bool doubled(const Half& half, const Arrival& arrival) const;
    void note_hole(const Half& half, const Arrival& arrival, std::uint64_t begin, std::uint64_t end);
    static std::uint32_t segments_of(const Direction& direction, std::uint32_t length, std::uint64_t octets);
    static void not_missing(RequestState& request, std::int64_t packets);
    Holes* take_holes(Direction& direction);
    Holes* holes_of(const Direction& direction);
    void drop_holes(Direction& direction);
    void lost_holes(const Half& half, std::uint64_t position, std::uint64_t frame, std::int64_t now_ns);
    bool late(const Half& half, const Hole& hole, const Arrival& arrival) const;
    void overtaken(const Half& half, const Arrival& arrival);
    static void learn_order(Direction& direction, const SendOrder& now);
    static SendOrder order_of(const Direction& direction, const Arrival& arrival);
    static bool orders_by_identification(const Direction& direction);
    void close_gap(const Half& half, const Half& back, const Arrival& arrival, Situation& situation);
    void close_by_rules(const Half& half, const Half& back, const Segment& segment, bool mid_message);
    bool closed_at_once(const Half& half, const Half& back, const Segment& segment, bool mid_message,
                        std::int64_t credit_freed_ns);
    void jump(const Half& half, const Segment& segment);
    void move_back(const Half& half);

    bool beyond_sent(const Half& half, const Segment& segment, std::int32_t ahead);
    void repeated(const Half& half, const Segment& segment, std::uint64_t position);
    void selective(const Half& half, const Segment& segment, std::uint64_t position);
    void unseen(const Half& half, std::uint32_t packets, std::uint64_t frame);
    static void believe(Direction& direction, std::uint64_t end);
    void take_round_trip(const Half& half, std::uint64_t position, std::int64_t now_ns);
    void receive_window(const Half& half, const Segment& segment, std::uint64_t position);
    std::uint64_t way_to_sender_ns(const Half& half) const;
    void note_reach(const Half& half, std::int64_t now_ns);
    std::int64_t admitted_ns(const Half& half, std::uint64_t end, std::int64_t now_ns) const;
    void watch_window(const Half& half, std::int64_t now_ns);
    static std::uint64_t wanted(std::uint32_t largest_segment, std::uint32_t last_unit_octets) {
        const std::uint64_t segment = std::max<std::uint32_t>(largest_segment, 1);
        return std::clamp<std::uint64_t>(last_unit_octets, 1, segment);
    }
    static bool keeps_window(const Half& half, const Segment& segment, std::uint64_t position);
    static bool has_room(const Direction& direction, std::uint64_t next, std::uint32_t largest_segment);

    FlowStore& store_;
    Slab<Holes> holes_;
};

}  // namespace metrics::stream
