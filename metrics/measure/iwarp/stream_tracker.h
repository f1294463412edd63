#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "dissect/dissector.h"
#include "metrics/measure/account/frame_context.h"
#include "metrics/measure/flow/flow_store.h"

namespace metrics::inline measure::iwarp {

/// iWARP: TCP connections that carry RDMA, their segments, acknowledgements and windows, and the FPDUs on them, turned
/// into what every flow has. RFC 5040, 5041, 5044, 7306, 9293.
class StreamTracker {
public:
    explicit StreamTracker(FlowStore& store);
    ~StreamTracker();
    StreamTracker(const StreamTracker&) = delete;
    StreamTracker& operator=(const StreamTracker&) = delete;

    /// A frame with a TCP segment, whether of an RDMA connection or not; before the units and notices of that frame.
    void on_segment(const wire::Frame& frame, const dissect::Dissection& dissection, const FrameContext& context);
    /// As Dissector::fetch: segments between these ends will come soon.
    void fetch(std::span<const dissect::Ipv4Ends> ends, unsigned pass);
    /// An FPDU or MPA start frame. `context` is that of the frame which completed it.
    void on_unit(const dissect::Unit& unit, const FrameContext& context);
    void on_notice(const dissect::Notice& notice, const FrameContext& context);
    /// The part of a snapshot that comes from TCP.
    void describe(FlowIndex index, FlowSnapshot& out) const;
    /// READs and atomics that are outstanding in addition to Flow::ledger; nullptr if absent.
    const Ledger* responses_of(const Flow& flow) const;
    /// The store drops a flow: frees what is attached to Flow::stream.
    void forget(FlowIndex index);
    std::size_t octets() const;

    /// FPDUs are found on a flow, for the first time or after a gap.
    std::function<void(const FlowKey&)> on_fpdus;
    /// The flow has ended: from that frame on another connection, whose SYN was not captured, uses its ports.
    std::function<void(const FlowKey&, std::uint64_t)> on_reuse;
    /// An FPDU, whose CRC is not wrong, of a flow that has an upper layer, or may have.
    std::function<void(FlowIndex, const dissect::Unit&)> on_watched;
    /// A segment of a flow that has an upper layer, before its FPDUs.
    std::function<void(const wire::Frame&)> on_read_segment;

    /// The flow has an upper layer that is read; or, if not `read`, it has none.
    void set_upper(FlowIndex index, bool read);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace metrics::measure::iwarp
