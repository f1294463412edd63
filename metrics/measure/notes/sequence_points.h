#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "dissect/dissection.h"
#include "metrics/figures/snapshot.h"
#include "wire/frame.h"

namespace metrics::inline measure::inline notes {

/// A point of the plot of sequence against time (W. R. Stevens' plot): PSNs on RoCE and InfiniBand, bytes of TCP's
/// stream on iWARP. Both are counted without wrap from the first that was seen.
struct SequencePoint {
    enum class Kind : std::uint8_t {
        data,      ///< sent for the first time; `length` packets or bytes from `sequence` on
        repeated,  ///< sent again
        response,  ///< READ response
        ack,       ///< acknowledged up to and without `sequence`
        nak,       ///< NAK or RNR NAK; iWARP: a duplicate ACK
        cnp,       ///< a CNP for the sender, at the highest sequence so far
    } kind = Kind::data;
    bool reverse = false;  ///< of the flow in the opposite direction: its own sequence numbers
    std::int64_t time_ns = 0;
    std::int64_t sequence = 0;
    std::uint32_t length = 0;
    std::uint64_t frame = 0;
    std::uint8_t opcode = 0;    ///< of the BTH; 0 on iWARP
    std::uint8_t syndrome = 0;  ///< of the AETH, of an ack or nak
};

/// Makes the points of one flow and its reverse. Points of the flow are its data, and the reverse's ACKs, NAKs and
/// CNPs.
class SequencePoints {
public:
    SequencePoints();
    ~SequencePoints();
    SequencePoints(SequencePoints&&) noexcept;
    SequencePoints& operator=(SequencePoints&&) noexcept;

    /// Follows another flow from its first frame on.
    void follow(const FlowSnapshot& flow);
    /// Counts from the beginning: the next frame may be an earlier one.
    void restart();
    /// Appends the points of a frame, at most two. Frames come in the order of the capture; those of other flows have
    /// no points.
    void take(const wire::Frame& frame, const dissect::Dissection& dissection, std::vector<SequencePoint>& out);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace metrics::measure::notes
