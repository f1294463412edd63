#pragma once
#include "metrics/measure/flow/flow_store.h"
#include "metrics/measure/hosts/reuse.h"
#include "metrics/measure/roce/packet_progress.h"
#include "metrics/measure/roce/tracking.h"

namespace metrics::inline measure::inline roce {

/// Puts the messages of a sender together from their request packets: operation, size, duration, and what is
/// outstanding. A message counts as its last packet says. If packets are missing, the bytes that passed wait for that
/// last packet, which may come late or again.
class RoceMessages {
public:
    explicit RoceMessages(const Tracking& tracking) : store_(tracking.store), reuse_(tracking.reuse) {}

    /// The next packet of a reliable sender. The next position is the one after the packet.
    void add(Flow& flow, const Progress& packet);
    /// The next packet of a sender that is not acknowledged.
    void add_unacknowledged(Flow& flow, const Progress& packet);
    /// A packet that was missing, and has passed after all.
    void add_late(Flow& flow, const Progress& packet);
    /// Packets after the last one have not passed: the message under way will not be measured as a whole.
    void cut(Flow& flow);
    /// The end of the message under way has not passed.
    void leave(Flow& flow);

private:
    void add_part(Flow& flow, const Progress& packet);
    void measure_part(Flow& flow, const Progress& packet);
    void add_piece(Flow& flow, const Progress& packet, std::uint32_t uncounted);
    void add_piece(Flow& flow, const MessagePiece& piece);
    void name_pieces(Flow& flow, const Progress& packet);
    void count_abandoned(Flow& flow, Operation operation, std::uint32_t bytes);
    void begin_later(Flow& flow, std::uint64_t position, std::uint32_t length);
    void note_reuse(Flow& flow, const Progress& packet);

    FlowStore& store_;
    ReuseTracker* reuse_;
};

/// Whether a packet after a hole is of the message under way; `otherwise` if the length of that message is not known.
bool continues_message(const RequestState& request, const Progress& packet, std::uint32_t hole, bool otherwise);

inline void RoceMessages::note_reuse(Flow& flow, const Progress& packet) {
    const ReuseTracker::Access access{packet.now_ns,     packet.requests,        flow.reuse_clock,
                                      packet.remote_key, packet.virtual_address, packet.dma_length};
    flow.reuse_clock = packet.requests;
    if (flow.reuse_responder == ReuseTracker::no_responder) [[unlikely]]
        flow.reuse_responder = reuse_->responder(flow.key.destination);
    const std::uint32_t handle = reuse_->access(flow.reuse_responder, flow.key.source, access);
    if (flow.request.reuse_position == 0 && packet.ends) {
        flow.request.reuse_position = packet.last;
        flow.request.reuse_handle = handle;
    }
}

[[gnu::always_inline]] inline void RoceMessages::add(Flow& flow, const Progress& packet) {
    RequestState& request = flow.request;
    flow.counts.payload_bytes += packet.payload;
    request.next = packet.last + 1;
    request.read_slack = 0;
    if (packet.starts) store_.note_begin(flow, packet.first, packet.frame);
    if (!packet.starts || !packet.ends) [[unlikely]]
        return add_part(flow, packet);
    OperationCounts::Count& counted = store_.count(flow, packet.operation);
    counted.bytes += packet.moved;
    ++counted.messages;
    request.message_counted = packet.moved;
    request.message_first_ns = packet.now_ns;
    request.operation = packet.operation;
    request.in_message = false;
    request.message_bytes = 0;
    request.message_end_ns = packet.now_ns;
    if (reuse_ != nullptr) note_reuse(flow, packet);
    if (!packet.cut_reth) [[likely]]
        store_.record_message(flow, packet.moved);
    flow.ledger.post(store_.rings, packet.now_ns, packet.operation, packet.last, packet.moved);
}

}  // namespace metrics::measure::roce
