#pragma once
/// What moves a flow forward, inline: the general path and that of the commonest packets share it.
#include <algorithm>

#include "metrics/roce/psn.h"
#include "metrics/roce/roce_tracker.h"

namespace metrics {

/// A packet whose position is new.
struct Progress {
    std::int64_t now_ns = 0;
    std::uint64_t last = 0;      ///< position of the packet; of a READ request, of its last response
    std::uint32_t payload = 0;   ///< octets
    std::uint32_t moved = 0;     ///< octets of the upper layer
    std::uint64_t requests = 0;  ///< FrameContext::destination_requests
    std::uint64_t virtual_address = 0;
    std::uint32_t remote_key = 0;
    std::uint32_t dma_length = 0;
    Operation operation = Operation::send;  ///< of the packet alone
    bool starts = false;
    bool ends = false;
};

inline void RoceTracker::notice_reuse(Flow& flow, const Progress& packet) {
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

/// Bytes, messages, what is outstanding, and where the next packet will be.
inline void RoceTracker::new_request(Flow& flow, const Progress& packet) {
    RequestState& request = flow.request;
    flow.counts.payload_bytes += packet.payload;
    OperationCounts::Count& counted = store_.count(flow, packet.operation);
    counted.bytes += packet.moved;
    if (packet.starts) {
        request.message_bytes = 0;
        request.message_counted = 0;
        request.message_first_ns = packet.now_ns;
        request.operation = packet.operation;
        if (reuse_ != nullptr) notice_reuse(flow, packet);
    }
    request.message_bytes += packet.moved;
    request.message_counted += packet.moved;
    if (packet.ends) {
        const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(request.message_bytes, 0xffffffff));
        ++counted.messages;
        if (!packet.starts) reassign_bytes(flow, packet.operation, request.message_counted - packet.moved);
        store_.record_message(flow, request.message_bytes);
        if (packet.starts) {
            flow.ledger.post(store_.rings, packet.now_ns, packet.operation, packet.last, bytes);
        } else {
            store_.record(flow, FlowHistogram::message_duration, psn::elapsed(request.message_first_ns, packet.now_ns));
            flow.ledger.add_bytes(packet.now_ns, packet.moved);
            flow.ledger.end(store_.rings, packet.now_ns, packet.operation, packet.last, bytes);
        }
        request.in_message = false;
        request.message_bytes = 0;
        request.message_end_ns = packet.now_ns;
    } else {
        if (packet.starts) flow.ledger.begin(packet.now_ns, packet.operation);
        flow.ledger.add_bytes(packet.now_ns, packet.moved);
        request.in_message = true;
        request.mtu_payload = static_cast<std::uint16_t>(std::min<std::uint32_t>(packet.payload, 0xffff));
    }
    request.next = packet.last + 1;
    request.read_slack = 0;
}

/// Everything up to `position`, which lies before what is sent next, is acknowledged for the first time.
inline void RoceTracker::settle(Flow& requester, std::uint64_t position, std::int64_t now_ns) {
    RequestState& request = requester.request;
    const unsigned done =
        requester.ledger.acknowledge(store_.rings, now_ns, position, [&](const OutstandingMessage& message) {
            const auto operation = static_cast<Operation>(static_cast<unsigned>(message.operation));
            if (message.again) return;
            const std::uint64_t latency = psn::elapsed(message.last_ns, now_ns);
            store_.record(requester, latency_of(operation), latency);
            psn::keep_least(request.round_trip_min_ns, latency);
        });
    if (done > 0) {
        request.freed_ns = now_ns;
        request.freed_messages = done;
        requester.attribution.freed(now_ns);
    }
    if (request.reuse_position != 0 && position >= request.reuse_position) {
        reuse_->turnaround(requester.reuse_responder, request.reuse_handle, psn::elapsed(request.last_data_ns, now_ns));
        request.reuse_position = 0;
    }
}

}  // namespace metrics
