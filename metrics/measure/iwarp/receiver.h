#pragma once
#include <cstdint>

#include "metrics/figures/operation.h"
#include "metrics/measure/iwarp/half.h"
#include "metrics/measure/iwarp/hole_table.h"
#include "metrics/measure/iwarp/tcp_segment.h"

namespace metrics::inline measure::iwarp {

/// TCP as the receiver of a direction uses it: what it acknowledges, which bytes it misses, and how much room it
/// advertises. Each call names the direction whose data the receiver gets; the segments are those of the opposite
/// direction. RFC 9293, 5681, 2018, 7323.
class Receiver {
public:
    Receiver(FlowStore& store, const HoleTable& holes) : store_(store), holes_(holes) {}

    /// Whether the segment acknowledges and advertises what the segment before it did, while the sender had room.
    bool is_unchanged(const Half& half, const Segment& segment) const;
    /// An acknowledgement has ECE. RFC 3168, 6.1.
    void congested(const Half& half, std::int64_t now_ns) const;
    /// A segment acknowledges everything before `position`.
    void acknowledged(const Half& half, const Segment& segment, std::uint64_t position);
    /// Everything before `position` is with the receiver; `measure` if the present frame says so.
    void complete(const Half& half, std::uint64_t position, std::int64_t now_ns, bool measure);
    /// It is known now what the last request, a Write that was acknowledged, had been.
    void record_write(const Half& half, Operation operation);

    /// ReceiveWindow::admitted_ns() of a segment that ends at `end`.
    std::int64_t admitted_ns(const Half& half, std::uint64_t end, std::int64_t now_ns) const;
    /// Adds up the time in which the next FPDU did not fit into the window.
    static void watch_window(const Half& half, std::int64_t now_ns);

private:
    void duplicate(const Half& half, const Segment& segment, std::uint64_t position);
    void selective(const Half& half, const Segment& segment, std::uint64_t position);
    void measure_round_trip(const Half& half, std::uint64_t position, const Segment& segment);
    void advertise(const Half& half, const Segment& segment, std::uint64_t position);
    std::uint64_t way_to_sender_ns(const Half& half) const;

    FlowStore& store_;
    const HoleTable& holes_;
};

}  // namespace metrics::measure::iwarp
