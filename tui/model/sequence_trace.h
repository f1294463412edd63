#pragma once
#include <cstdint>
#include <deque>
#include <memory>

#include "metrics/figures/snapshot.h"
#include "tui/model/feed.h"

namespace tui::inline model {

/// A point of the plot of sequence against time (W. R. Stevens' plot): PSNs on RoCE and InfiniBand, bytes of TCP's
/// stream on iWARP. Both are counted without wrap from the first that was seen.
struct SequencePoint {
    enum class Kind : std::uint8_t {
        data,      ///< sent for the first time; `length` packets or bytes from `sequence` on
        repeated,  ///< sent again
        response,  ///< READ response
        ack,       ///< acknowledged up to and without `sequence`
        nak,       ///< NAK or RNR NAK; iWARP: a duplicate ACK
    } kind = Kind::data;
    bool reverse = false;  ///< of the flow in the opposite direction: its own sequence numbers
    std::int64_t time_ns = 0;
    std::int64_t sequence = 0;
    std::uint32_t length = 0;
    std::uint64_t frame = 0;
};

/// Follows the frames of one flow and its reverse. Points of the flow are its data, and the reverse's ACKs and NAKs.
class SequenceTrace {
public:
    explicit SequenceTrace(std::size_t max_points = 1 << 16);
    ~SequenceTrace();

    /// Follows another flow: forgets everything, and reads the frames that the source still has from the oldest on.
    void follow(const metrics::FlowSnapshot& flow);
    /// Whether it follows this flow, as far as the flow's ends are known: a QPN may become known later, by pairing.
    bool follows(const metrics::FlowSnapshot& flow) const;
    void clear();
    /// Reads new frames, at most `most`; call it once for each refresh. Returns whether there are more.
    bool advance(Feed& feed, std::size_t most = 50'000);

    const std::deque<SequencePoint>& points() const;  ///< in the order of time; the oldest go first
    std::uint64_t flow() const;                       ///< 0: none

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace tui::model
